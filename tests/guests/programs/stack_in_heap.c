// As oneDNN's generated kernels do: points the stack register into a workspace on the heap while it computes, with live data
// right below it. A signal frame written there without an alternate stack destroys the data.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBytes = 64 << 10 };

// Runs the loop with rsp at `top`; what lies below top is the program's own.
static unsigned long run_at(char* top, unsigned long count) {
  unsigned long total = 0;
  __asm__ volatile(
      "mov %%rsp, %%r12\n\t"
      "mov %[top], %%rsp\n\t"
      "1:\n\t"
      "imul $31, %[total], %[total]\n\t"
      "add %[count], %[total]\n\t"
      "dec %[count]\n\t"
      "jnz 1b\n\t"
      "mov %%r12, %%rsp\n\t"
      : [total] "+r"(total), [count] "+r"(count)
      : [top] "r"(top)
      : "r12", "cc", "memory");
  return total;
}

int main(void) {
  int spoiled = 0;
  unsigned long total = 0;
  for (int turn = 0; turn < 40; turn++) {
    char* workspace = malloc(kBytes);
    memset(workspace, 0x5a, kBytes);
    total = total * 7 + run_at(workspace + kBytes / 2, 30000000);
    for (int i = 0; i < kBytes; i++) spoiled += workspace[i] != 0x5a;
    free(workspace);
  }
  printf("total %lu, bytes spoiled %d\n", total, spoiled);
  return 0;
}
