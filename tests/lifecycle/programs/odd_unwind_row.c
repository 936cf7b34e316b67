// A function whose unwind entry holds an expression, whose length the test changes. usage: odd_unwind_row SECONDS
#include <stdio.h>
#include <stdlib.h>

#include "burn.h"

__attribute__((noinline)) void work(double seconds) {
  // DW_CFA_expression of register 3: two bytes of expression, their length written in ten. The test puts 2^64 - 12 in
  // its place, which leads from behind the length back to the opcode; the linker would not have passed that.
  asm volatile(".cfi_escape 0x10, 3, 0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0x76, 0");
  burn_s(seconds);
}

int main(int argc, char** argv) {
  work(atof(argv[argc - 1]));
  puts("done");
  return 0;
}
