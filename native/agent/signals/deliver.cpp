#include "signals/deliver.h"

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "signals/alternate_stack.h"
#include "signals/frame.h"
#include "signals/policy.h"

namespace sonde {
namespace {

void call(int signal, const struct sigaction& action, siginfo_t* info, void* context) {
  if (action.sa_flags & SA_SIGINFO) action.sa_sigaction(signal, info, context);
  else action.sa_handler(signal);
}

[[noreturn]] void enter(Frame* frame, int signal, Handler handler) {
  asm volatile(
      "mov %0, %%rsp\n"
      "xor %%eax, %%eax\n"
      "jmp *%1"
      :
      : "r"(frame), "r"(handler), "D"(signal), "S"(frame->info), "d"(frame->context)
      : "memory", "rax");
  __builtin_unreachable();
}

// The top of the stack that the handler belongs on; 0: the one that we are on.
uint64_t rightful_stack(const struct sigaction& action, uint64_t interrupted_sp, uint64_t* lowest) {
  const AlternateStack& own = own_alternate_stack();
  // A trap in Sonde's own handler: what lies above must stay.
  if (!own.holds(stack_pointer()) || own.holds(interrupted_sp)) return 0;
  const AlternateStack& program = program_alternate_stack();
  *lowest = 0;
  if (!(action.sa_flags & SA_ONSTACK) || !program.high) return interrupted_sp - kRedZone;
  *lowest = program.low;
  return program.holds(interrupted_sp) ? interrupted_sp - kRedZone : program.high;
}

}  // namespace

void deliver(int signal, const struct sigaction& action, siginfo_t* info, void* context) {
  const auto* ucontext = static_cast<const ucontext_t*>(context);
  const auto* old_frame = reinterpret_cast<const Frame*>(static_cast<uint8_t*>(context) - offsetof(Frame, context));
  uint64_t lowest = 0;
  const uint64_t top =
      rightful_stack(action, static_cast<uint64_t>(ucontext->uc_mcontext.gregs[REG_RSP]), &lowest);
  const void* fp = ucontext->uc_mcontext.fpregs;
  if (!top || static_cast<void*>(info) != old_frame->info) return call(signal, action, info, context);
  const FramePlace place = frame_below(top, fp);
  if (place.frame <= lowest) return call(signal, action, info, context);  // the kernel would have killed the program
  auto* frame = reinterpret_cast<Frame*>(place.frame);
  std::memcpy(frame, old_frame, sizeof *frame);
  if (fp) {
    std::memcpy(reinterpret_cast<void*>(place.vectors), fp, place.vector_bytes);
    std::memcpy(frame->context + offsetof(ucontext_t, uc_mcontext.fpregs), &place.vectors, sizeof place.vectors);
  }
  // What the program's handler looks at is sa_handler or sa_sigaction; both are called with all three arguments.
  enter(frame, signal, action.sa_sigaction);
}

}  // namespace sonde
