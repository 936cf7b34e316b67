// Threads with the smallest stacks there are. usage: small_stacks THREADS SECONDS_EACH
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "burn.h"

static double seconds;
static void* work(void* unused) {
  burn_s(seconds);
  return unused;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int count = atoi(argv[1]);
  seconds = atof(argv[2]);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
  pthread_t ids[256];
  for (int i = 0; i < count; i++)
    if (pthread_create(&ids[i], &attributes, work, NULL)) return 1;
  for (int i = 0; i < count; i++) pthread_join(ids[i], NULL);
  return 0;
}
