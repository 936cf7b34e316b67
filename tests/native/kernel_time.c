// Time in the kernel under two functions: one reads, one faults pages in. usage: kernel_time SECONDS
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static char buffer[1 << 16];

static double cpu_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((noinline)) long reads(int zero) {
  long sum = 0;
  for (int i = 0; i < 500; i++) sum += read(zero, buffer, sizeof buffer);
  return sum;
}

__attribute__((noinline)) long faults(void) {
  size_t size = 4u << 20;
  char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, size, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < size; i += 4096) memory[i] = 1;
  return munmap(memory, size);
}

int main(int argc, char** argv) {
  int zero = open("/dev/zero", O_RDONLY);
  double end = cpu_s() + atof(argv[argc - 1]);
  long sum = 0;
  while (cpu_s() < end) sum += reads(zero) + faults();
  return sum == 42;
}
