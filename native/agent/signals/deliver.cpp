#include "signals/deliver.h"

#include <ucontext.h>

#include <cstdint>

#include "arch/arch.h"
#include "signals/alternate_stack.h"
#include "signals/policy.h"

namespace sonde {
namespace {

void call(int signal, const struct sigaction& action, siginfo_t* info, void* context) {
  if (action.sa_flags & SA_SIGINFO) action.sa_sigaction(signal, info, context);
  else action.sa_handler(signal);
}

// The top of the stack that the handler belongs on; 0: the one that we are on.
uint64_t rightful_stack(const struct sigaction& action, uint64_t interrupted_sp, uint64_t* lowest) {
  const AlternateStack& own = own_alternate_stack();
  // A trap in Sonde's own handler: what lies above must stay.
  if (!own.holds(stack_pointer()) || own.holds(interrupted_sp)) return 0;
  const AlternateStack& program = program_alternate_stack();
  *lowest = 0;
  if (!(action.sa_flags & SA_ONSTACK) || !program.high) return interrupted_sp - kRedZoneBytes;
  *lowest = program.low;
  return program.holds(interrupted_sp) ? interrupted_sp - kRedZoneBytes : program.high;
}

}  // namespace

void deliver(int signal, const struct sigaction& action, siginfo_t* info, void* context) {
  uint64_t lowest = 0;
  const uint64_t top = rightful_stack(action, sp_of(static_cast<const ucontext_t*>(context)), &lowest);
  // What the program's handler looks at is sa_handler or sa_sigaction; both are called with all three arguments.
  if (top) enter_handler(top, lowest, signal, action.sa_sigaction, info, context);
  call(signal, action, info, context);  // no room: the kernel would have killed the program
}

}  // namespace sonde
