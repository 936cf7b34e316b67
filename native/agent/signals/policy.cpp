#include "signals/policy.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "process/confined.h"

namespace sonde {

uint64_t mask_of(const sigset_t& set) {
  uint64_t mask;
  std::memcpy(&mask, &set, sizeof mask);
  return mask;
}

bool let_faults_through(const ucontext_t* interrupted) {
  if (!(mask_of(interrupted->uc_sigmask) & kFaultSignals)) return true;
  if (is_filtered()) return false;
  const uint64_t set = kFaultSignals;
  syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, nullptr, sizeof set);
  return true;
}

bool has_handler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

struct sigaction sampling_action(Handler handler) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  const uint64_t mask = ~kTrapSignals;  // with libc's own: a thread that is cancelled here would end in the handler
  std::memcpy(&action.sa_mask, &mask, sizeof mask);
  return action;
}

struct sigaction fault_action(Handler handler, const struct sigaction& program) {
  struct sigaction action = {};
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  if (has_handler(program)) {
    action.sa_flags = program.sa_flags & ~static_cast<int>(SA_RESETHAND);
    action.sa_mask = program.sa_mask;
  }
  action.sa_flags |= SA_SIGINFO;
  action.sa_sigaction = handler;
  return action;
}

struct sigaction forwarded_action(Handler handler, const struct sigaction& program) {
  struct sigaction action = program;
  action.sa_flags |= SA_SIGINFO;
  action.sa_sigaction = handler;
  return action;
}

bool needs_forwarding(const struct sigaction& program) {
  return has_handler(program) && (program.sa_flags & SA_ONSTACK);
}

uint64_t handler_mask(int signal, const struct sigaction& program, uint64_t interrupted) {
  return interrupted | mask_of(program.sa_mask) | (program.sa_flags & SA_NODEFER ? 0 : mask_bit(signal));
}

}  // namespace sonde
