// Two functions share the time about 70 to 30, in turns of a fraction of a millisecond. Prints the
// share of `seventy` by the thread's own clock: the answer that a profile must give.
// Turns differ in length at random: equal ones can beat in time with the kernel's 4 ms tick, to which the
// timer engine is bound, and then samples are not independent looks.
// usage: split SECONDS THREADS
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "burn.h"

static double seconds;
static double in_seventy[64], in_thirty[64];

__attribute__((noinline)) double seventy(int n) {
  volatile double x = 0;
  for (int i = 0; i < 7 * n; i++) x += i;
  return x;
}

__attribute__((noinline)) double thirty(int n) {
  volatile double x = 0;
  for (int i = 0; i < 3 * n; i++) x += i;
  return x;
}

static void* work(void* number) {
  long me = (long)number;
  unsigned random = 2463534242u + (unsigned)me;
  double a = cpu_s(CLOCK_THREAD_CPUTIME_ID), end = a + seconds;
  while (a < end) {
    random ^= random << 13, random ^= random >> 17, random ^= random << 5;
    int turn = 5000 + (int)(random % 70000);
    seventy(turn);
    double b = cpu_s(CLOCK_THREAD_CPUTIME_ID);
    thirty(turn);
    double c = cpu_s(CLOCK_THREAD_CPUTIME_ID);
    in_seventy[me] += b - a;
    in_thirty[me] += c - b;
    a = c;
  }
  return NULL;
}

int main(int argc, char** argv) {
  seconds = atof(argv[1]);
  long threads = argc > 2 ? atoi(argv[2]) : 1;
  pthread_t ids[64];
  for (long i = 1; i < threads; i++) pthread_create(&ids[i], NULL, work, (void*)i);
  work((void*)0);
  for (long i = 1; i < threads; i++) pthread_join(ids[i], NULL);
  double a = 0, b = 0;
  for (long i = 0; i < threads; i++) a += in_seventy[i], b += in_thirty[i];
  printf("%.6f\n", a / (a + b));
  return 0;
}
