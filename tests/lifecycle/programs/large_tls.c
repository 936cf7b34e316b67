// More thread-local memory than most threads have stack. usage: large_tls SECONDS
#include <stdio.h>
#include <stdlib.h>

#include "burn.h"

__thread char large[1 << 20];

int main(int argc, char** argv) {
  burn_s(atof(argv[argc - 1]));
  large[5] = 1;
  printf("%d\n", large[5] + large[6]);
  return 0;
}
