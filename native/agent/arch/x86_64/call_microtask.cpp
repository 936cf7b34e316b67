// libomp's microtasks take their arguments one by one, however many there are.
#include "arch/arch.h"

asm(R"(
  .text
  .type sonde_call_microtask, @function
  .globl sonde_call_microtask
  .hidden sonde_call_microtask
sonde_call_microtask:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  movq %rdi, %r11          # microtask
  movq %rsi, %rdi          # global thread
  movq %rdx, %rsi          # bound thread
  movq %rcx, %r10          # count
  movq %r8, %rax           # arguments
  subq $4, %rcx            # those that go on the stack
  jle 2f
  testq $1, %rcx           # an odd number of words leaves the stack misaligned
  jz 1f
  subq $8, %rsp
1:
  pushq -8(%rax,%r10,8)    # from the last to the fifth
  decq %r10
  cmpq $4, %r10
  jg 1b
2:
  movq %rax, %r10
  movq 0(%r10), %rdx
  movq 8(%r10), %rcx
  movq 16(%r10), %r8
  movq 24(%r10), %r9
  xorl %eax, %eax
  call *%r11
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size sonde_call_microtask, .-sonde_call_microtask
)");
