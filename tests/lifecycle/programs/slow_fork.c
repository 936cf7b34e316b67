// Two threads fork at the same time, and the first needs more than half a second for it, as a process of many gigabytes
// does (here a handler of the program's own waits). Then a third fork, whose child works. usage: slow_fork
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

static int slow = 0;
static void wait_before(void) {
  if (__atomic_exchange_n(&slow, 0, __ATOMIC_SEQ_CST)) usleep(600000);
}

// Such handlers run in the reverse order of their registration: what registers before all libraries comes right before
// the fork, behind the agent's.
static void enter(void) { pthread_atfork(wait_before, NULL, NULL); }
__attribute__((section(".preinit_array"), used)) static void (*const before_all)(void) = enter;

static void* fork_once(void* unused) {
  pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  return unused;
}

int main(void) {
  pthread_t first, second;
  burn_s(0.1);
  slow = 1;
  pthread_create(&first, NULL, fork_once, NULL);
  usleep(100000);
  pthread_create(&second, NULL, fork_once, NULL);
  pthread_join(first, NULL);
  pthread_join(second, NULL);
  burn_s(0.3);
  pid_t child = fork();
  if (child == 0) {
    burn_s(0.2);
    return 0;
  }
  waitpid(child, NULL, 0);
  puts("done");
  return 0;
}
