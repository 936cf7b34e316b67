// Native stack walking. `walk` runs in the signal handler; the rest does not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/arch.h"
#include "common/stack_bounds.h"

namespace sonde {

// Why a walk ended. Anything but Root is counted and shown as a loss of depth.
enum class WalkEnd : uint8_t {
  Root = 0,        // reached the thread's first frame
  Truncated = 1,   // more frames than the caller's array holds
  NoCfi = 2,       // library code without unwind information, and no decoder or scan found the caller
  NoCaller = 3,    // JIT code whose caller could not be found
  BadCfa = 4,      // unwind rule led outside the stack or did not advance
  BadRule = 5,     // unwind rule of a form that is not understood
  BadPc = 6,       // return address that is not code
  OffStack = 7,    // stack pointer outside the thread's known stack (coroutine, alternate stack)
  Unreadable = 8,  // memory could not be read
};

// How the step from this frame to its caller was found.
enum FrameFlag : uint8_t {
  kFrameJit = 1,        // pc is in no library: generated code
  kFrameDecoded = 2,    // caller found by decoding a known prologue
  kFrameScanned = 4,    // caller found by scanning the stack: plausible, not certain
  kFrameEval = 8,       // a Python interpreter frame (_PyEval_EvalFrameDefault)
  kFrameSignal = 16,    // interrupted frame below a signal handler of the program
  kFrameOwner = 64,     // where this thread's owner was: the frames below are those of the thread that works for it
  kFrameKernel = 32,    // an address of the kernel, whose top byte (all ones) is left out
};

struct NativeFrame {
  uint64_t pc;  // exact for the leaf and for interrupted frames, the return address for callers
  uint8_t flags;
};

// A stack address known to lie inside a certain frame (the interpreter's own
// frame, or the trampoline of a pool worker). A walk that does not pass through it is wrong.
struct Anchor {
  uint64_t address = 0;  // 0: nothing to check against
  // Code that the frame around `address` must be executing; 0, 0: the interpreter's evaluation function.
  uint64_t code_low = 0, code_high = 0;
};

struct WalkResult {
  uint16_t count = 0;
  WalkEnd end = WalkEnd::Root;
  bool anchor_checked = false;
  bool anchor_hit = false;
  bool foreign_stack = false;  // part of the walk was on another stack (coroutine, alternate signal stack)
};

struct RuleCache;  // per thread; made by new_rule_cache, cleared when libraries are unloaded

RuleCache* new_rule_cache();  // not async-signal-safe; lives as long as the process, like its thread's slot

// Async-signal-safe. Leaf first. `leaf_exact`: registers.pc is the interrupted
// instruction itself (signal, system call), not a return address.
WalkResult walk(const Registers& from, const StackBounds& stack, const Anchor& anchor,
                RuleCache* cache, bool leaf_exact, NativeFrame* out, size_t capacity);

// Async-signal-safe. A walk of this thread was left in the middle and will not be finished (siglongjmp out of a handler).
void walk_abandoned();

// Not async-signal-safe. Called by the background thread a few times per second (and once at the start):
// notices loaded and unloaded libraries.
void unwind_refresh();

// In the child of a fork, before its first walk.
void unwind_after_fork();

}  // namespace sonde
