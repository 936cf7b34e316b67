// The alternate signal stack of each thread, and the one that the program believes in.
//
// Generated code may point the stack pointer anywhere (oneDNN's matrix kernels: into their workspace on the heap), so
// a handler on «the» stack would write over the program's data. In each sampled thread the kernel therefore holds
// a stack of Sonde's, on which nothing but Sonde runs. The program's own sigaltstack calls are kept here: it is told
// what it set, and its handlers run where they would run without Sonde (deliver.h). So the program's
// stack may be as small as it likes: Sonde never uses a byte of it.
//
// A runtime that makes the bare system call (Go), or asks for SS_AUTODISARM, puts its stack into the kernel. Ticks then
// arrive on that one, and are sampled only where there is room for the handler (loss small_signal_stack).
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace sonde {

// What Sonde's code may use of a stack in a handler, without the kernel's own frames. The build
// fails when the call graph may need more (native/stack_usage.py).
#ifndef __SANITIZE_ADDRESS__
constexpr uint64_t kHandlerStackBytes = 8 << 10;
#else  // red zones between all variables; not checked
constexpr uint64_t kHandlerStackBytes = 256 << 10;
#endif

struct AlternateStack {
  uint64_t low = 0, high = 0;  // 0, 0: none
  // As the kernel counts: the stack grows down from `high`.
  bool holds(uint64_t sp) const { return sp > low && sp <= high; }
};

// Not async-signal-safe. Maps a stack with a guard page below it, unless there is one. False: no memory.
bool map_alternate_stack(AlternateStack* stack);
uint64_t alternate_stack_bytes();  // of one

// On the thread itself, async-signal-safe. Before its first tick; one that the kernel holds already is the program's.
void install_alternate_stack(const AlternateStack& stack);
// At its end. False: the thread still stands on it, and it must not be given to another.
bool remove_alternate_stack();

// Where a thread's own and the program's stack are noted, from its thread pointer: for those that are set from outside
// (native/attach). `thread_pointer` is the caller's.
int64_t alternate_stacks_offset(uint64_t thread_pointer);

// In a handler, async-signal-safe: the kernel will hold `stack` for the interrupted thread when the handler returns.
// For threads older than the agent.
void offer_alternate_stack(const AlternateStack& stack, ucontext_t* context);
// The same for a thread in which a bare system call has switched it off.
void restore_alternate_stack(ucontext_t* context);

// Async-signal-safe. What sigaltstack(2) means for the calling thread.
int program_sigaltstack(const stack_t* next, stack_t* previous);

// Async-signal-safe, of the calling thread: Sonde's, if the kernel was given it, and the one that the kernel
// would use for the program's handlers.
const AlternateStack& own_alternate_stack();
const AlternateStack& program_alternate_stack();

// Async-signal-safe, in a handler: is there room for it on the stack that it runs on? `thread` is the thread's own stack.
bool has_room_for_handler(const ucontext_t* context, uint64_t thread_low, uint64_t thread_high);

}  // namespace sonde
