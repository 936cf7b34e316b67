// main leaves by pthread_exit and a worker ends the process; then the same in a child that was forked from the
// worker. Prints from the last thread. usage: main_leaves
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

static pthread_t main_thread;
static void* work(void* unused) {
  pthread_join(main_thread, NULL);
  pid_t child = fork();
  burn_s(0.1);
  if (child == 0) return unused;  // the only thread of the child: libc calls exit(0)
  int status = -1;
  waitpid(child, &status, 0);
  printf("child %d\n", status);
  return unused;
}

int main(void) {
  main_thread = pthread_self();
  pthread_t id;
  pthread_create(&id, NULL, work, NULL);
  pthread_exit(NULL);
}
