#include "signals/alternate_stack.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "arch/arch.h"
#include "common/page.h"
#include "log/loss.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

namespace sonde {
namespace {

// For a handler of the program that a trap inside Sonde's handler calls (seccomp's SIGSYS).
constexpr uint64_t kTrapHandlerBytes = 16u << 10;
constexpr uint64_t kLeastFrameBytes = 2048, kSmallestProgramStack = 2048;  // MINSIGSTKSZ, as the kernel checks it
constexpr unsigned kAutoDisarm = 1u << 31;                                // SS_AUTODISARM

struct Stacks {
  AlternateStack own, program;
  bool stood_aside = false;  // SS_AUTODISARM: the kernel holds the program's
};
constinit __thread Stacks here __attribute__((tls_model("initial-exec")));

// What the kernel itself writes for one signal: all vector registers, so it depends on the processor.
uint64_t frame_bytes() {
  static uint64_t bytes = 0;
  if (!bytes) {
    const uint64_t told = getauxval(AT_MINSIGSTKSZ);
    bytes = told > kLeastFrameBytes ? told : kLeastFrameBytes;
  }
  return bytes;
}

// The kernel's frame of the tick lies above; a guarded read that faults brings a second one.
uint64_t room_needed() { return kHandlerStackBytes + frame_bytes(); }

uint64_t usable_bytes() {
  const uint64_t bytes = frame_bytes() + room_needed() + kTrapHandlerBytes;
  return (bytes + page_bytes() - 1) & ~(page_bytes() - 1);
}

int kernel_sigaltstack(const stack_t* next, stack_t* previous) {
  return static_cast<int>(syscall(SYS_sigaltstack, next, previous));
}

stack_t described(const AlternateStack& stack) {
  stack_t out = {};
  out.ss_sp = reinterpret_cast<void*>(stack.low);
  out.ss_size = stack.high - stack.low;
  out.ss_flags = stack.high ? 0 : SS_DISABLE;
  return out;
}

AlternateStack range_of(const stack_t& stack) {
  if (stack.ss_flags & SS_DISABLE) return {};
  const auto low = reinterpret_cast<uint64_t>(stack.ss_sp);
  return {low, low + stack.ss_size};
}

// A handler between the stores sees none, never a half.
void set_program_stack(const AlternateStack& stack) {
  here.program.high = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  here.program.low = stack.low;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  here.program.high = stack.high;
}

int fail(int error) {
  errno = error;
  return -1;
}

// The kernel gets the program's stack, as without Sonde. An error number, or 0.
int stand_aside(const stack_t& next) {
  if (kernel_sigaltstack(&next, nullptr) != 0) return errno;
  here.stood_aside = true;
  set_program_stack({});
  return 0;
}

// The kernel has ours, the program's is noted.
int take_over(const stack_t& next) {
  if (next.ss_flags & ~(SS_ONSTACK | SS_DISABLE)) return EINVAL;
  if (!(next.ss_flags & SS_DISABLE) && next.ss_size < kSmallestProgramStack) return ENOMEM;
  const stack_t own = described(here.own);
  if (here.stood_aside && kernel_sigaltstack(&own, nullptr) != 0) return errno;
  here.stood_aside = false;
  set_program_stack(range_of(next));
  return 0;
}

}  // namespace

int64_t alternate_stacks_offset(uint64_t thread_pointer) {
  return static_cast<int64_t>(reinterpret_cast<uint64_t>(&here) - thread_pointer);
}

bool map_alternate_stack(AlternateStack* stack) {
  if (stack->high) return true;
  const uint64_t bytes = page_bytes() + usable_bytes();
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
                      -1, 0);
  if (memory == MAP_FAILED) {
    count_loss(Loss::NoMemory);
    return false;
  }
  mprotect(memory, page_bytes(), PROT_NONE);
  const auto start = reinterpret_cast<uint64_t>(memory);
  *stack = {start + page_bytes(), start + bytes};
  return true;
}

uint64_t alternate_stack_bytes() { return page_bytes() + usable_bytes(); }

void install_alternate_stack(const AlternateStack& stack) {
  if (!stack.high) return;
  const stack_t next = described(stack);
  stack_t before = {};
  const AlternateStack earlier = here.own;  // of a thread that was adopted before it began
  here.own = stack;
  if (kernel_sigaltstack(&next, &before) != 0) {
    here.own = {};  // the thread stands on one right now
  } else if (static_cast<unsigned>(before.ss_flags) & kAutoDisarm) {
    stand_aside(before);
  } else if (range_of(before).low != stack.low && range_of(before).low != earlier.low) {
    set_program_stack(range_of(before));
  }
}

bool remove_alternate_stack() {
  const AlternateStack own = here.own;
  if (!own.high) return true;
  stack_t now = {};
  if (kernel_sigaltstack(nullptr, &now) == 0 && range_of(now).low == own.low) {
    const stack_t next = described(here.program);
    if (kernel_sigaltstack(&next, nullptr) != 0) return false;
  }
  here = Stacks{};
  return true;
}

void offer_alternate_stack(const AlternateStack& stack, ucontext_t* context) {
  if (!stack.high) return;
  here.own = stack;
  if (!here.program.high) here.program = range_of(context->uc_stack);
  context->uc_stack = described(stack);
}

void restore_alternate_stack(ucontext_t* context) {
  if (here.own.high && !here.stood_aside && (context->uc_stack.ss_flags & SS_DISABLE)) context->uc_stack = described(here.own);
}

int program_sigaltstack(const stack_t* next, stack_t* previous) {
  const bool autodisarm = next && (static_cast<unsigned>(next->ss_flags) & kAutoDisarm);
  if (!here.own.high || (here.stood_aside && (!next || autodisarm))) return kernel_sigaltstack(next, previous);
  stack_t before = described(here.program);
  if (here.program.holds(stack_pointer())) before.ss_flags = SS_ONSTACK;
  if (here.stood_aside && kernel_sigaltstack(nullptr, &before) != 0) return -1;
  if (next) {
    if (before.ss_flags & SS_ONSTACK) return fail(EPERM);
    const int refused = autodisarm ? stand_aside(*next) : take_over(*next);
    if (refused) return fail(refused);
  }
  if (previous) *previous = before;
  return 0;
}

const AlternateStack& own_alternate_stack() { return here.own; }
const AlternateStack& program_alternate_stack() { return here.program; }

bool has_room_for_handler(const ucontext_t* context, uint64_t thread_low, uint64_t thread_high) {
  const uint64_t sp = stack_pointer();
  if (here.own.holds(sp)) return true;
  AlternateStack stack = range_of(context->uc_stack);
  if (!stack.holds(sp)) stack = {thread_low, thread_high};
  return stack.holds(sp) ? sp - stack.low >= room_needed() : !here.stood_aside;
}

}  // namespace sonde
