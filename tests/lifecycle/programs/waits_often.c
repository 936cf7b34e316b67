// Waits that ticks must not end and signals that they must not become, thousands of times. usage: waits_often KIND SECONDS;
// prints how often a wait ended as it should not. KIND: see main.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static sigset_t all, none, user, saved;
static const struct timespec at_once = {0, 0}, soon = {0, 20000};
static volatile sig_atomic_t alarms;
static int fd;

static void on_alarm(int number) { alarms += number == SIGALRM; }
static void on_prof(int number) { (void)number; }

static int any(void) { return sigtimedwait(&all, NULL, &at_once) != -1 || errno != EAGAIN; }
static int one(void) { return sigtimedwait(&user, NULL, &soon) != -1 || errno != EAGAIN; }
static int pending(void) {
  sigset_t set;
  sigpending(&set);
  return sigismember(&set, SIGPROF);
}
static int descriptor(void) {
  struct signalfd_siginfo info;
  return read(fd, &info, sizeof info) != -1 || errno != EAGAIN;
}
static int polls(void) { return ppoll(NULL, 0, &soon, &saved) != 0; }
static int selects(void) { return pselect(0, NULL, NULL, NULL, &soon, &saved) != 0; }
static int epolls(void) {
  struct epoll_event event;
  return epoll_pwait(fd, &event, 1, 1, &saved) != 0;
}
static int suspends(void) {
  const struct itimerval once = {{0, 0}, {0, 50}};
  const int before = alarms;
  setitimer(ITIMER_REAL, &once, NULL);
  const int result = sigsuspend(&saved);
  return result != -1 || errno != EINTR || alarms != before + 1;
}

int main(int count, char** arguments) {
  if (count < 4) return 2;
  static const struct {
    const char* name;
    int (*wait)(void);
  } kinds[] = {{"any", any},     {"one", one},         {"pending", pending}, {"descriptor", descriptor},
               {"ppoll", polls}, {"pselect", selects}, {"epoll_pwait", epolls}, {"sigsuspend", suspends}};
  sigfillset(&all);
  sigemptyset(&none);
  sigemptyset(&user);
  sigaddset(&user, SIGUSR1);
  signal(SIGALRM, on_alarm);
  // During the wait: nothing blocked, SIGPROF blocked, or nothing with a handler for it.
  saved = none;
  if (!strcmp(arguments[3], "blocked")) sigaddset(&saved, SIGPROF);
  if (!strcmp(arguments[3], "handler")) signal(SIGPROF, on_prof);
  sigprocmask(SIG_SETMASK, &all, NULL);
  fd = !strcmp(arguments[1], "epoll_pwait") ? epoll_create1(0) : signalfd(-1, &all, SFD_NONBLOCK);
  for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (strcmp(kinds[i].name, arguments[1])) continue;
    struct timespec start, now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    int wrong = 0;
    do {
      wrong += kinds[i].wait();
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while (now.tv_sec - start.tv_sec + (now.tv_nsec - start.tv_nsec) / 1e9 < atof(arguments[2]));
    printf("%d wrong\n", wrong);
    return 0;
  }
  return 2;
}
