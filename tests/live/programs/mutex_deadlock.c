/* Two threads that each hold the mutex that the other wants. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_hold_one;

static void* takes_second(void* unused) {
  pthread_mutex_lock(&second);
  pthread_barrier_wait(&both_hold_one);
  pthread_mutex_lock(&first);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_barrier_init(&both_hold_one, NULL, 2);
  pthread_create(&thread, NULL, takes_second, NULL);
  pthread_mutex_lock(&first);
  pthread_barrier_wait(&both_hold_one);
  puts("ready");
  fflush(stdout);
  pthread_mutex_lock(&second);
  return 0;
}
