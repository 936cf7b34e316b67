// Computes for a minute (or for SECONDS) of CPU time and keeps each thread's clocks in a file that outlives a kill -9.
// usage: clocked FILE [SECONDS [CHILDREN]]; a second thread works a quarter of the time when FILE ends in "2".
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kSlots = 16 };

struct Slot {
  uint64_t pid, tid, start_ns, cpu_ns, wall_ns;
};

static struct Slot* slots;
static double seconds = 60;  // nobody's orphan runs for ever

static uint64_t now_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void compute(struct Slot* slot, int rests) {
  slot->tid = (uint64_t)syscall(SYS_gettid);
  slot->pid = (uint64_t)getpid();
  slot->start_ns = now_ns(CLOCK_MONOTONIC);
  for (unsigned turn = 1; slot->cpu_ns < (uint64_t)(seconds * 1e9); turn++) {
    for (volatile int i = 0; i < 100000; i++) {
    }
    slot->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    slot->wall_ns = now_ns(CLOCK_MONOTONIC);
    if (rests && turn % 50 == 0) usleep(30000);
  }
}

static void* second(void* slot) {
  compute(slot, 1);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int file = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (ftruncate(file, kSlots * sizeof(struct Slot))) return 3;
  slots = mmap(NULL, kSlots * sizeof(struct Slot), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (argc > 2) seconds = atof(argv[2]);
  const int children = argc > 3 ? atoi(argv[3]) : 0;
  for (int i = 0; i < children; i++) {
    if (fork() == 0) {
      compute(&slots[2 + i], 0);
      _exit(0);
    }
  }
  pthread_t other;
  const int two = argv[1][strlen(argv[1]) - 1] == '2';
  if (two) pthread_create(&other, NULL, second, &slots[1]);
  compute(&slots[0], 0);
  if (two) pthread_join(other, NULL);
  while (wait(NULL) > 0) {
  }
  return 0;
}
