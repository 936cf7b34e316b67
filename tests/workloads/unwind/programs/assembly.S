// Hand-written functions: two with unusual unwind information, the rest with none at all,
// shaped after oneDNN's generated kernels and MKL's assembly.
  .text
  .macro function name
  .globl \name
  .type \name, @function
\name:
  .endm
  .macro finish name
  .size \name, .-\name
  .endm

// Frame pointer in rbx, with unwind information.
  function cfi_framed
  .cfi_startproc
  pushq %rbx
  .cfi_def_cfa_offset 16
  .cfi_offset %rbx, -16
  movq %rsp, %rbx
  .cfi_def_cfa_register %rbx
  subq $256, %rsp
  andq $-64, %rsp
  call *%rdi
  movq %rbx, %rsp
  .cfi_def_cfa_register %rsp
  popq %rbx
  .cfi_restore %rbx
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  finish cfi_framed

// The CFA is an expression: *(rsp + 8) + 8.
  function cfi_escape
  .cfi_startproc
  movq %rsp, %rax
  subq $24, %rsp
  .cfi_def_cfa_offset 32
  movq %rax, 8(%rsp)
  // DW_CFA_def_cfa_expression 5: DW_OP_breg7 8; DW_OP_deref; DW_OP_plus_uconst 8
  .cfi_escape 0x0f, 0x05, 0x77, 0x08, 0x06, 0x23, 0x08
  call *%rdi
  addq $24, %rsp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  finish cfi_escape

// No frame at all.
  function nocfi_leaf
  movl $3, %eax
1:
  addq $3, %rdx
  decl %eax
  jnz 1b
  ret
  finish nocfi_leaf

// oneDNN's preamble with a local part; a loop with an exit in the middle.
  function nocfi_pushes
  pushq %rbp
  movq %rsp, %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $0x108, %rsp
  movl $3, %ebx
1:
  testl %ebx, %ebx
  jz 2f
  vpxor %ymm0, %ymm0, %ymm0
  vmovups %ymm0, 0x20(%rsp)
  movq %rbx, %r12
  decl %ebx
  jmp 1b
2:
  call *%rdi
  addq $0x108, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  vzeroupper
  ret
  finish nocfi_pushes

// MKL's way: lower the stack once, save with moves.
  function nocfi_saves
  subq $0x48, %rsp
  movq %rbx, (%rsp)
  movq %rbp, 8(%rsp)
  movq %r12, 16(%rsp)
  movq %r15, 24(%rsp)
  xorl %ebx, %ebx
  xorl %ebp, %ebp
  movl $3, %r12d
1:
  incl %ebx
  cmpl %r12d, %ebx
  jl 1b
  call *%rdi
  movq 24(%rsp), %r15
  movq 16(%rsp), %r12
  movq 8(%rsp), %rbp
  movq (%rsp), %rbx
  addq $0x48, %rsp
  ret
  finish nocfi_saves

// An AVX-512 kernel of oneDNN: rbp holds the constant for compressed displacements.
  function nocfi_evex
  pushq %rbp
  movq %rsp, %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movl $0x200, %ebp
  movl $3, %ebx
1:
  leaq (%rax,%rbp,1), %r12
  subl $1, %ebx
  jnz 1b
  call *%rdi
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  finish nocfi_evex

// MKL's kernels that copy: a variable, page-aligned part; the old stack pointer is kept in it.
  function nocfi_aligned
  subq $0x38, %rsp
  movq %rbx, (%rsp)
  movq %rbp, 8(%rsp)
  movq %r13, 16(%rsp)
  movq %rsp, %rbp
  movl $0x1234, %eax
  subq %rax, %rsp
  andq $-4096, %rsp
  movq %rbp, 0x78(%rsp)
  movl $0x200, %ebp
  movl $3, %ebx
1:
  vmovups %ymm0, 0x200(%rsp)
  decl %ebx
  jnz 1b
  call *%rdi
  movq 0x78(%rsp), %rsp
  movq 16(%rsp), %r13
  movq 8(%rsp), %rbp
  movq (%rsp), %rbx
  addq $0x38, %rsp
  vzeroupper
  ret
  finish nocfi_aligned

// oneDNN's injector inside a kernel: an aligned area in the middle of the body.
  function nocfi_inner_aligned
  pushq %rbp
  pushq %rbx
  pushq %r15
  movl $2, %ebx
1:
  pushq %rax
  pushq %r15
  movq %rsp, %r15
  subq $8, %rsp
  andq $-32, %rsp
  movq %r15, (%rsp)
  subq $0xa0, %rsp
  movq %rsp, %r15
  vmovups %ymm0, (%r15)
  addq $0x80, %r15
  vmovups -0x80(%r15), %ymm0
  addq $0x20, %r15
  movq (%r15), %rsp
  popq %r15
  popq %rax
  decl %ebx
  jnz 1b
  popq %r15
  popq %rbx
  popq %rbp
  ret
  finish nocfi_inner_aligned

// oneDNN's spin barrier: one push, no preamble.
  function nocfi_barrier
  pushq %rax
  movl $3, %eax
1:
  pause
  decl %eax
  jnz 1b
  popq %rax
  ret
  finish nocfi_barrier

  .section .note.GNU-stack, "", @progbits
