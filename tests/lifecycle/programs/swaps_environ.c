// Puts another environment in the place of its own all the time and takes the old one away. Nobody else in the program
// reads it, so this is legal; whoever calls getenv on a thread of his own reads what is gone. usage: swaps_environ SECONDS
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "burn.h"

extern char** environ;

enum { kEntries = 1 << 18, kBytes = (kEntries + 512) * sizeof(char*) };  // a look at all takes longer than a swap

int main(int argc, char** argv) {
  double end = cpu_s(CLOCK_THREAD_CPUTIME_ID) + atof(argv[argc - 1]);
  char* room = mmap(NULL, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char** list = (char**)room;
  for (int i = 0; i < kEntries; i++) list[i] = "A=1";
  environ = list;
  for (int turn = 1; cpu_s(CLOCK_THREAD_CPUTIME_ID) < end; turn++) {
    environ = mremap(environ, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, room + turn % 2 * kBytes);
  }
  return write(1, "swapped\n", 8) == 8 ? 0 : 1;
}
