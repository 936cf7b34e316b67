// A runtime that sets alternate stacks by the bare system call, as Go's does. usage: raw_stacks SIZE SECONDS
// SIZE 0 switches the alternate stack off, and works with the stack pointer in a block on the heap: prints
// whether anybody wrote there. Another SIZE works with an alternate stack so large, and says whether it overflowed.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "burn.h"

static size_t size;
static double seconds;
static char* block;

__attribute__((noinline)) void own_work(void) { burn_s(seconds); }

// rdi: rounds, rsi: where the stack pointer is to point meanwhile.
__attribute__((naked, noinline)) static void off_stack(__attribute__((unused)) uint64_t rounds,
                                                       __attribute__((unused)) void* top) {
  __asm__(
      "push %rbx\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset rbx, 0\n"
      "mov %rsp, %rbx\n .cfi_def_cfa_register rbx\n"
      "mov %rsi, %rsp\n"
      "1: dec %rdi\n jnz 1b\n"
      "mov %rbx, %rsp\n .cfi_def_cfa_register rsp\n"
      "pop %rbx\n .cfi_adjust_cfa_offset -8\n .cfi_restore rbx\n"
      "ret\n");
}

static void* work(void* unused) {
  enum { kBelow = 64 << 10 };  // where an overflow would be seen
  block = malloc(kBelow + size + kBelow);
  memset(block, 0x5a, kBelow + size + kBelow);
  stack_t stack = {.ss_sp = block + kBelow, .ss_size = size, .ss_flags = size ? 0 : SS_DISABLE};
  if (syscall(SYS_sigaltstack, &stack, NULL)) return NULL;
  own_work();
  if (!size) off_stack(500u << 20, block + kBelow);
  int changed = 0;
  for (int i = 0; i < kBelow; i++) changed += block[i] != 0x5a;
  printf("%d bytes changed\n", changed);
  memset(&stack, 0, sizeof stack);
  syscall(SYS_sigaltstack, NULL, &stack);
  printf("still its own: %d\n", size == 0 || stack.ss_size == size);
  return unused;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  size = (size_t)atol(argv[1]);
  seconds = atof(argv[2]);
  pthread_t id;
  if (pthread_create(&id, NULL, work, NULL)) return 1;
  pthread_join(id, NULL);
  return 0;
}
