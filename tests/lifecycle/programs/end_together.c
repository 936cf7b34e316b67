// Children whose main thread has left and whose last two threads end at the same moment: how many never end?
// usage: end_together CHILDREN
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

static double end_s;

static void* spin(void* unused) {
  while (cpu_s(CLOCK_MONOTONIC) < end_s) {
  }
  return unused;
}

static void be_a_child(void) {
  end_s = cpu_s(CLOCK_MONOTONIC) + 0.005;
  pthread_t id;
  pthread_create(&id, NULL, spin, NULL);
  pthread_create(&id, NULL, spin, NULL);
  pthread_exit(NULL);
}

static int ends(pid_t child) {
  for (int i = 0; i < 4000; i++) {
    if (waitpid(child, NULL, WNOHANG) == child) return 1;
    usleep(1000);
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return 0;
}

// Many threads at once: looking at all that the agent remembers takes a while then, in which the other one ends.
static pthread_barrier_t all_here;
static void* meet(void* unused) {
  pthread_barrier_wait(&all_here);
  return unused;
}

static void have_many_threads(void) {
  enum { kThreads = 800 };
  pthread_t ids[kThreads];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  pthread_barrier_init(&all_here, NULL, kThreads);
  for (int i = 0; i < kThreads; i++) pthread_create(&ids[i], &small, meet, NULL);
  for (int i = 0; i < kThreads; i++) pthread_join(ids[i], NULL);
}

int main(int argc, char** argv) {
  int hung = 0;
  have_many_threads();
  for (int i = atoi(argv[argc - 1]); i > 0 && !hung; i--) {
    pid_t child = fork();
    if (child == 0) be_a_child();
    hung += !ends(child);
  }
  printf("hung %d\n", hung);
  return 0;
}
