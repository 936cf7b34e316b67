// A program that blocks SIGPROF and takes its own by sigwait, signalfd and sigpending, or has it delivered when it
// unblocks it. What it prints must not depend on the agent.
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

static sigset_t all, prof;
static volatile sig_atomic_t handled;
static siginfo_t last;
static sigjmp_buf back;

static void on_prof(int number, siginfo_t* info, void* context) {
  (void)context;
  handled += number == SIGPROF;
  last = *info;
}
static void jump_away(int number) { siglongjmp(back, number); }

static void tell(const char* what, int number, const siginfo_t* info) {
  printf("%s: %d code %d sender %d value %d\n", what, number, number > 0 ? info->si_code : 0,
         number > 0 && info->si_code <= 0 && info->si_pid == getpid(), info->si_code == SI_QUEUE ? info->si_int : 0);
}

static void take(const char* what) {
  siginfo_t info = {0};
  const struct timespec second = {1, 0};
  int number = sigtimedwait(&all, &info, &second);
  tell(what, number, &info);
}

static void nothing_left(const char* what) {
  sigset_t pending;
  const struct timespec soon = {0, 2000000};
  sigpending(&pending);
  int number = sigtimedwait(&prof, NULL, &soon);
  printf("%s: pending %d, waited %d %s\n", what, sigismember(&pending, SIGPROF), number, number < 0 ? strerror(errno) : "");
}

static int is_pending(void) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGPROF);
}

static void* waits(void* unused) {
  (void)unused;
  int number = 0;
  sigwait(&all, &number);
  printf("another thread took %d\n", number);
  return NULL;
}

static void* burns(void* stop) {
  while (!*(volatile int*)stop) burn_s(0.01);
  return NULL;
}

static void own_pending_signal(void) {
  burn_s(0.03);
  kill(getpid(), SIGPROF);
  burn_s(0.03);
  printf("pending after kill: %d\n", is_pending());
  take("kill");
  nothing_left("after kill");
  raise(SIGPROF);
  burn_s(0.03);
  take("raise");
  const union sigval value = {.sival_int = 4711};
  sigqueue(getpid(), SIGPROF, value);
  burn_s(0.03);
  take("sigqueue");
  const struct itimerval once = {{0, 0}, {0, 5000}};
  setitimer(ITIMER_PROF, &once, NULL);
  burn_s(0.05);
  take("setitimer");
  nothing_left("after setitimer");
}

static void other_wait_does_not_take_it(void) {
  sigset_t user;
  sigemptyset(&user);
  sigaddset(&user, SIGUSR1);
  kill(getpid(), SIGPROF);
  const struct timespec soon = {0, 5000000};
  int number = sigtimedwait(&user, NULL, &soon);
  printf("waiting for another: %d %s, still pending %d\n", number, strerror(errno), is_pending());
  take("afterwards");
}

static void delivered_when_unblocked(void) {
  struct sigaction action = {.sa_sigaction = on_prof, .sa_flags = SA_SIGINFO};
  sigaction(SIGPROF, &action, NULL);
  raise(SIGPROF);
  burn_s(0.02);
  printf("blocked: handled %d\n", (int)handled);
  pthread_sigmask(SIG_UNBLOCK, &prof, NULL);
  printf("unblocked: handled %d code %d\n", (int)handled, last.si_code);
  burn_s(0.05);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  kill(getpid(), SIGPROF);
  burn_s(0.02);
  sigset_t none;
  sigemptyset(&none);
  const int suspended = sigsuspend(&none);
  printf("suspended: %d, handled %d, pending %d\n", suspended, (int)handled, is_pending());
  signal(SIGPROF, SIG_IGN);
  raise(SIGPROF);
  burn_s(0.01);
  printf("ignored but blocked: pending %d\n", is_pending());
  take("ignored");
  signal(SIGPROF, SIG_DFL);
}

// A mask that libc keeps for siglongjmp was saved before.
static void kept_after_a_jump(void) {
  signal(SIGUSR2, jump_away);
  sigset_t user;
  sigemptyset(&user);
  sigaddset(&user, SIGUSR2);
  if (!sigsetjmp(back, 1)) {
    kill(getpid(), SIGPROF);
    burn_s(0.02);
    raise(SIGUSR2);
    pthread_sigmask(SIG_UNBLOCK, &user, NULL);
  }
  burn_s(0.02);
  printf("after a jump: pending %d\n", is_pending());
  take("after a jump");
}

static void threads_and_children(void) {
  int stop = 0;
  pthread_t burning[2], waiting;
  for (int i = 0; i < 2; i++) pthread_create(&burning[i], NULL, burns, &stop);
  pthread_create(&waiting, NULL, waits, NULL);
  burn_s(0.05);
  kill(getpid(), SIGPROF);
  pthread_join(waiting, NULL);
  pthread_create(&waiting, NULL, waits, NULL);
  pthread_kill(waiting, SIGPROF);
  pthread_join(waiting, NULL);
  stop = 1;
  for (int i = 0; i < 2; i++) pthread_join(burning[i], NULL);
  fflush(stdout);
  int status;
  if (fork() == 0) {
    kill(getpid(), SIGPROF);
    burn_s(0.02);
    take("child");
    fflush(stdout);
    pthread_sigmask(SIG_UNBLOCK, &prof, NULL);
    raise(SIGPROF);
    _exit(1);
  }
  wait(&status);
  printf("child died of %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void by_descriptor(void) {
  int fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
  struct signalfd_siginfo info;
  burn_s(0.05);
  ssize_t bytes = read(fd, &info, sizeof info);
  printf("descriptor: %zd %s\n", bytes, strerror(errno));
  const union sigval value = {.sival_int = 815};
  sigqueue(getpid(), SIGPROF, value);
  burn_s(0.03);
  bytes = read(fd, &info, sizeof info);
  printf("descriptor: %zd signal %u code %d value %d\n", bytes, info.ssi_signo, info.ssi_code, info.ssi_int);
  burn_s(0.05);
  bytes = read(fd, &info, sizeof info);
  printf("descriptor: %zd %s\n", bytes, strerror(errno));
  close(fd);
}

int main(int count, char** arguments) {
  sigfillset(&all);
  sigemptyset(&prof);
  sigaddset(&prof, SIGPROF);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  const int first = count > 1 && !strcmp(arguments[1], "descriptor");
  if (first) by_descriptor();
  own_pending_signal();
  other_wait_does_not_take_it();
  kept_after_a_jump();
  delivered_when_unblocked();
  threads_and_children();
  if (!first) by_descriptor();
  pthread_sigmask(SIG_SETMASK, NULL, &all);
  printf("blocked at the end: %d\n", sigismember(&all, SIGPROF));
  fflush(stdout);
  raise(SIGPROF);
  burn_s(0.02);
  pthread_sigmask(SIG_UNBLOCK, &prof, NULL);  // dies of it
  return 1;
}
