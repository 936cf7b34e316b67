// CPU time by the clock, so that a busy machine changes nothing but the wall time.
#pragma once
#include <time.h>

static inline double cpu_s(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline void spin_a_little(void) {
  volatile double x = 0;
  for (int i = 0; i < 20000; i++) x += i;
}

static inline void burn_s(double seconds) {
  double end = cpu_s(CLOCK_THREAD_CPUTIME_ID) + seconds;
  while (cpu_s(CLOCK_THREAD_CPUTIME_ID) < end) spin_a_little();
}
