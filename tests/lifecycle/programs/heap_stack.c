// Code that points the stack pointer into a block on the heap, as oneDNN's generated matrix kernels do, and works
// there for a while. usage: heap_stack WAY SECONDS. Prints whether anybody else wrote into the block.
//   row      library code whose unwind row leads back to the thread's stack
//   ahead    generated code without a row: only reading it ahead tells where the stack pointer was saved
//   jump     the same, but an indirect jump stops the reading: the saved stack pointer must be found in the block
//   frame    the same, with nothing in the block, but a frame pointer
//   lost     the same, with neither: only that it was off the stack can be known
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "burn.h"

enum { kBlock = 1 << 20, kTop = kBlock / 2 };
static uint64_t* block;
static const char* way;
static double seconds;

// rdi: rounds, rsi: where the stack pointer is to point meanwhile.
__attribute__((naked, noinline)) void kernel_with_row(__attribute__((unused)) uint64_t rounds,
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

// push rbx; mov [rsi+8], rsp; mov rsp, rsi; 1: dec rdi; jnz 1b; mov rsp, [rsp+8]; pop rbx; ret
static const uint8_t kAhead[] = {0x53, 0x48, 0x89, 0x66, 0x08, 0x48, 0x89, 0xf4, 0x48, 0xff, 0xcf,
                                 0x75, 0xfb, 0x48, 0x8b, 0x64, 0x24, 0x08, 0x5b, 0xc3};
// the same with `lea rax, [rip+2]; jmp rax` behind the loop
static const uint8_t kJump[] = {0x53, 0x48, 0x89, 0x66, 0x08, 0x48, 0x89, 0xf4, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x48, 0x8d,
                                0x05, 0x02, 0x00, 0x00, 0x00, 0xff, 0xe0, 0x48, 0x8b, 0x64, 0x24, 0x08, 0x5b, 0xc3};
// push rbp; mov rbp, rsp; mov rsp, rsi; loop; lea rax, [rip+2]; jmp rax; mov rsp, rbp; pop rbp; ret
static const uint8_t kFrame[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf4, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x48, 0x8d,
                                 0x05, 0x02, 0x00, 0x00, 0x00, 0xff, 0xe0, 0x48, 0x89, 0xec, 0x5d, 0xc3};
// push rbp; mov r11, rsp; xor r11, -1; xor ebp, ebp; mov rsp, rsi; loop; lea rax; jmp rax; xor r11, -1; mov rsp, r11; ...
static const uint8_t kLost[] = {0x55, 0x49, 0x89, 0xe3, 0x49, 0x83, 0xf3, 0xff, 0x31, 0xed, 0x48, 0x89, 0xf4,
                                0x48, 0xff, 0xcf, 0x75, 0xfb, 0x48, 0x8d, 0x05, 0x02, 0x00, 0x00, 0x00, 0xff,
                                0xe0, 0x49, 0x83, 0xf3, 0xff, 0x4c, 0x89, 0xdc, 0x5d, 0xc3};

typedef void (*Kernel)(uint64_t, void*);

static Kernel generated(const uint8_t* code, size_t size) {
  void* memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(memory, code, size);
  return (Kernel)memory;
}

static uint64_t pattern(uint64_t at) { return at * 0x9e3779b97f4a7c15u; }

__attribute__((noinline)) void runs_kernel(Kernel kernel) {
  double end = cpu_s(CLOCK_THREAD_CPUTIME_ID) + seconds;
  while (cpu_s(CLOCK_THREAD_CPUTIME_ID) < end) {
    kernel(20u << 20, block + kTop / 8);
    __asm__ volatile("" ::: "memory");
  }
}

static void* work(void* unused) {
  Kernel kernel = kernel_with_row;
  if (!strcmp(way, "ahead")) kernel = generated(kAhead, sizeof kAhead);
  if (!strcmp(way, "jump")) kernel = generated(kJump, sizeof kJump);
  if (!strcmp(way, "frame")) kernel = generated(kFrame, sizeof kFrame);
  if (!strcmp(way, "lost")) kernel = generated(kLost, sizeof kLost);
  runs_kernel(kernel);
  return unused;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  way = argv[1];
  seconds = atof(argv[2]);
  block = malloc(kBlock);
  for (uint64_t i = 0; i < kBlock / 8; i++) block[i] = pattern(i);
  pthread_t id;
  if (pthread_create(&id, NULL, work, NULL)) return 1;
  pthread_join(id, NULL);
  int changed = 0;
  for (uint64_t i = 0; i < kBlock / 8; i++) changed += i != kTop / 8 + 1 && block[i] != pattern(i);
  printf("%s: %d words of the block changed\n", way, changed);
  return changed != 0;
}
