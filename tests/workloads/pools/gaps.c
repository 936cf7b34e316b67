// A parallel region of two threads, and work of the caller alone; both last for a given CPU time of the thread.
#include <time.h>

static double cpu_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

void alone(double ms) {
  const double end = cpu_ms() + ms;
  while (cpu_ms() < end) {
    for (volatile int i = 0; i < 1000; i++) {
    }
  }
}

void region(double ms) {
#pragma omp parallel num_threads(2)
  alone(ms);
}
