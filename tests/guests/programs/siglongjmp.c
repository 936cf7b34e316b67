// Timeouts as cysignals has them: a SIGALRM handler leaves by siglongjmp out of whatever runs, 300 times; then SIGPROF's own
// handler does the same. The thread works on afterwards, with the mask it had.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

static sigjmp_buf away;
static volatile sig_atomic_t jumps;

static void jump(int number) {
  (void)number;
  jumps++;
  siglongjmp(away, 1);
}

static unsigned long work(unsigned long count) {
  unsigned long total = 0;
  for (unsigned long i = 0; i < count; i++) total = (total * 31 + i) % 1000003;
  return total;
}

static void jump_often(int number, int timer, int turns) {
  struct sigaction action = {.sa_handler = jump};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
  for (volatile int turn = 0; turn < turns; turn++) {
    if (sigsetjmp(away, 1) == 0) {
      struct itimerval soon = {{0, 0}, {0, 1000 + turn % 7 * 300}};
      setitimer(timer, &soon, NULL);
      for (;;) work(1000);
    }
  }
}

int main(void) {
  jump_often(SIGALRM, ITIMER_REAL, 300);
  printf("jumps %d\n", (int)jumps);
  jump_often(SIGPROF, ITIMER_PROF, 50);
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, NULL, &mask);
  printf("jumps %d, blocked %d %d\n", (int)jumps, sigismember(&mask, SIGALRM), sigismember(&mask, SIGPROF));
  printf("total %lu\n", work(200000000));
  return 0;
}
