// Almost all time goes into page faults. usage: page_faults SECONDS
#include <stdlib.h>
#include <sys/mman.h>

#include "burn.h"

int main(int argc, char** argv) {
  double end = cpu_s(CLOCK_PROCESS_CPUTIME_ID) + atof(argv[argc - 1]);
  while (cpu_s(CLOCK_PROCESS_CPUTIME_ID) < end) {
    size_t size = 4u << 20;
    char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < size; i += 4096) memory[i] = 1;
    munmap(memory, size);
  }
  return 0;
}
