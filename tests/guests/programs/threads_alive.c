// N threads that have each used 20 ms of CPU time are alive at once; prints the process's resident and virtual KiB.
// usage: threads_alive N
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_barrier_t used, seen;

static void* use(void* nothing) {
  struct timespec now = {0, 0};
  while (now.tv_sec == 0 && now.tv_nsec < 20000000) {
    for (volatile int i = 0; i < 10000; i++) {
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  }
  pthread_barrier_wait(&used);
  pthread_barrier_wait(&seen);
  return nothing;
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 1;
  pthread_barrier_init(&used, NULL, (unsigned)count + 1);
  pthread_barrier_init(&seen, NULL, (unsigned)count + 1);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 << 10);
  pthread_t thread;
  for (int i = 0; i < count; i++) {
    if (pthread_create(&thread, &small, use, NULL)) return 3;
  }
  pthread_barrier_wait(&used);
  sleep(1);  // what is read in the background has been
  FILE* status = fopen("/proc/self/status", "r");
  char line[256];
  long resident = 0, virtual_size = 0;
  while (fgets(line, sizeof line, status)) {
    sscanf(line, "VmRSS: %ld", &resident);
    sscanf(line, "VmSize: %ld", &virtual_size);
  }
  printf("%ld %ld\n", resident, virtual_size);
  pthread_barrier_wait(&seen);
  return 0;
}
