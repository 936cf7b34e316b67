// A worker that blocks all signals and works, as thread pools do. usage: blocked_thread SECONDS
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "burn.h"

__attribute__((noinline)) void hidden_work(double seconds) { burn_s(seconds); }
static double seconds;
static void* work(void* unused) {
  hidden_work(seconds);
  return unused;
}

int main(int argc, char** argv) {
  seconds = atof(argv[argc - 1]);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t id;
  pthread_create(&id, NULL, work, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_join(id, NULL);
  return 0;
}
