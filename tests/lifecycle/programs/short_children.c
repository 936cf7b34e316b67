// Children that live for a few ticks, one after the other; each spends about 70 to 30 of its life in two functions,
// in turns of a fraction of a millisecond. Prints the seconds in each by the clocks of the children.
// usage: short_children NUMBER SECONDS
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

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

static void work(double seconds, unsigned random, double out[2]) {
  double a = cpu_s(CLOCK_THREAD_CPUTIME_ID), end = a + seconds;
  out[0] = out[1] = 0;
  while (a < end) {
    random ^= random << 13, random ^= random >> 17, random ^= random << 5;
    int turn = 2000 + (int)(random % 30000);
    seventy(turn);
    double b = cpu_s(CLOCK_THREAD_CPUTIME_ID);
    thirty(turn);
    double c = cpu_s(CLOCK_THREAD_CPUTIME_ID);
    out[0] += b - a;
    out[1] += c - b;
    a = c;
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int number = atoi(argv[1]), ends[2];
  double seconds = atof(argv[2]), sum[2] = {0, 0}, one[2];
  if (pipe(ends)) return 3;
  for (int i = 0; i < number; i++) {
    pid_t child = fork();
    if (child == 0) {
      work(seconds, 2463534242u + 7919u * (unsigned)i, one);
      _exit(write(ends[1], one, sizeof one) != sizeof one);
    }
    if (child < 0 || read(ends[0], one, sizeof one) != sizeof one) return 4;
    waitpid(child, NULL, 0);
    sum[0] += one[0], sum[1] += one[1];
  }
  printf("%.6f %.6f\n", sum[0], sum[1]);
  return 0;
}
