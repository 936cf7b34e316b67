// Almost all time goes into system calls. usage: system_calls SECONDS
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "burn.h"

static char buffer[1 << 16];

int main(int argc, char** argv) {
  int zero = open("/dev/zero", O_RDONLY);
  double end = cpu_s(CLOCK_PROCESS_CPUTIME_ID) + atof(argv[argc - 1]);
  while (cpu_s(CLOCK_PROCESS_CPUTIME_ID) < end) {
    for (int i = 0; i < 20; i++)
      if (read(zero, buffer, sizeof buffer) < 0) return 1;
  }
  return 0;
}
