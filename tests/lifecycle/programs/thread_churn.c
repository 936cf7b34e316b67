// Many short threads, a few at a time. usage: thread_churn COUNT MILLISECONDS_EACH
#include <pthread.h>
#include <stdlib.h>

#include "burn.h"

static double each_s;
static void* work(void* unused) {
  burn_s(each_s);
  return unused;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int count = atoi(argv[1]);
  each_s = atof(argv[2]) / 1000;
  for (int i = 0; i < count; i += 4) {
    pthread_t ids[4];
    for (int k = 0; k < 4; k++) pthread_create(&ids[k], NULL, work, NULL);
    for (int k = 0; k < 4; k++) pthread_join(ids[k], NULL);
  }
  return 0;
}
