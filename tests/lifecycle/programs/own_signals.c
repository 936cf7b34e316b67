// A program with its own use of the signals that the agent shares. What it prints must not depend on the agent.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "burn.h"

static volatile sig_atomic_t profs, segvs, bad_mask;
static sigjmp_buf back;

static void on_prof(int number) { profs += number == SIGPROF; }
static void on_segv(int number, siginfo_t* info, void* context) {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, NULL, &now);
  if (!sigismember(&now, SIGUSR1) || !sigismember(&now, SIGSEGV)) bad_mask = 1;
  segvs += number == SIGSEGV && info->si_addr == (void*)16 && context != NULL;
  siglongjmp(back, 1);
}

static const char* name_of(const struct sigaction* a) {
  if (a->sa_flags & SA_SIGINFO) return a->sa_sigaction == on_segv ? "on_segv" : "other";
  return a->sa_handler == SIG_DFL ? "default" : a->sa_handler == SIG_IGN ? "ignore"
         : a->sa_handler == on_prof ? "on_prof" : "other";
}

int main(void) {
  struct sigaction action, old;
  sigaction(SIGPROF, NULL, &old);
  printf("prof at start: %s\n", name_of(&old));
  burn_s(0.05);

  memset(&action, 0, sizeof action);
  action.sa_handler = on_prof;
  sigaction(SIGPROF, &action, &old);
  printf("prof replaced: %s\n", name_of(&old));
  struct itimerval timer = {{0, 10000}, {0, 10000}};
  setitimer(ITIMER_PROF, &timer, NULL);
  burn_s(0.3);
  memset(&timer, 0, sizeof timer);
  setitimer(ITIMER_PROF, &timer, NULL);
  printf("prof handler ran at most 45 times: %d\n", profs > 1 && profs < 45);
  int before = profs;
  raise(SIGPROF);
  printf("raise: %d\n", profs - before);
  printf("signal() returns: %s\n", signal(SIGPROF, SIG_IGN) == on_prof ? "on_prof" : "other");
  raise(SIGPROF);
  burn_s(0.05);
  printf("ignored: %d\n", profs - before);
  signal(SIGPROF, SIG_DFL);

  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_segv;
  action.sa_flags = SA_SIGINFO;
  sigaddset(&action.sa_mask, SIGUSR1);
  sigaction(SIGSEGV, &action, &old);
  printf("segv replaced: %s\n", name_of(&old));
  for (volatile int i = 0; i < 100; i++) {
    if (!sigsetjmp(back, 1)) *(volatile int*)16 = 1;
    burn_s(0.001);
  }
  sigaction(SIGSEGV, NULL, &old);
  printf("segv handled: %d, mask right: %d, still: %s\n", (int)segvs, !bad_mask, name_of(&old));

  sigset_t all, seen;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &seen);
  printf("prof blocked before: %d\n", sigismember(&seen, SIGPROF));
  pthread_sigmask(SIG_BLOCK, NULL, &seen);
  printf("all blocked: prof %d usr1 %d\n", sigismember(&seen, SIGPROF), sigismember(&seen, SIGUSR1));
  burn_s(0.05);
  sigemptyset(&all);
  sigprocmask(SIG_SETMASK, &all, &seen);
  printf("after: prof %d\n", sigismember(&seen, SIGPROF));
  sigprocmask(SIG_BLOCK, NULL, &seen);
  printf("empty: prof %d\n", sigismember(&seen, SIGPROF));

  // A handler that is to run once only.
  memset(&action, 0, sizeof action);
  action.sa_handler = on_prof;
  action.sa_flags = (int)SA_RESETHAND;
  before = profs;
  sigaction(SIGPROF, &action, NULL);
  raise(SIGPROF);
  sigaction(SIGPROF, NULL, &old);
  printf("once: %d, then: %s\n", profs - before, name_of(&old));
  return 0;
}
