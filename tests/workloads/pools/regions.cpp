// Parallel regions with a known shape, for libgomp, libomp and libiomp5 alike. Prints a checksum
// that tells whether every argument of every region arrived.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

// CPU time of the thread, so that the shape holds on a busy machine.
static double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

extern "C" NOINLINE double work(double seconds) {
  const double end = cpu_seconds() + seconds;
  volatile double x = 1;
  while (cpu_seconds() < end) {
    for (int i = 0; i < 2000; ++i) x = x * 1.0000001;
  }
  return x;
}

extern "C" NOINLINE void balanced(double seconds) {
#pragma omp parallel
  work(seconds);
}

extern "C" NOINLINE void uneven(double seconds) {
#pragma omp parallel
  work(omp_get_thread_num() == 0 ? seconds * 4 : seconds / 4);
}

extern "C" NOINLINE void nested(double seconds) {
#pragma omp parallel
  {
#pragma omp parallel num_threads(1)
    work(seconds);
  }
}

// Regions inside a region, each opened by another thread of the outer one.
extern "C" NOINLINE void inner(double seconds) {
#pragma omp parallel num_threads(2)
  work(seconds);
}

extern "C" NOINLINE void outer(double seconds) {
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  inner(seconds);
}

extern "C" NOINLINE void alone(double seconds) { work(seconds); }

extern "C" NOINLINE long many_arguments(long a, long b, long c, long d, long e, long f, long g, long h) {
  long sums[64] = {};
#pragma omp parallel
  sums[omp_get_thread_num()] = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
  long total = 0;
  for (long sum : sums) total += sum;
  return total / omp_get_max_threads();
}

extern "C" NOINLINE long loops() {
  long total = 0;
#pragma omp parallel for schedule(dynamic, 3) reduction(+ : total)
  for (int i = 0; i < 1000; ++i) total += i;
#pragma omp parallel for schedule(guided) reduction(+ : total)
  for (int i = 0; i < 1000; ++i) total += i;
#pragma omp parallel for schedule(runtime) reduction(+ : total)
  for (int i = 0; i < 1000; ++i) total += i;
#pragma omp parallel sections reduction(+ : total)
  {
#pragma omp section
    total += 1;
#pragma omp section
    total += 2;
  }
  return total;
}

int main(int count, char** argv) {
  const double seconds = atof(argv[1]);
  const int rounds = 10;
  if (count > 2) {
    for (int i = 0; i < rounds; ++i) outer(seconds / rounds);
    return 0;
  }
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    balanced(seconds / rounds);
    uneven(seconds / rounds);
    nested(seconds / rounds);
    alone(seconds / rounds);
    sum += many_arguments(1, 2, 3, 4, 5, 6, 7, 8) + loops();
  }
  printf("%ld\n", sum);
  return 0;
}
