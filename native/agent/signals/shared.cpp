#include "signals/shared.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "common/guarded_memory.h"
#include "common/system.h"
#include "core/agent.h"
#include "log/loss.h"
#include "sample/handler.h"
#include "signals/real.h"

namespace sonde {
namespace {

// What the program asked for. Written under `version` (odd while writing), read in handlers.
struct Wanted {
  std::atomic<uint32_t> version{0};
  struct sigaction action = {};
  std::atomic<bool> installed{false};
};
constexpr int kMaxTakenBack = 8;
int times_taken_back = 0;
constinit Wanted wanted_prof, wanted_segv, wanted_bus;

Wanted* wanted_of(int signal) {
  switch (signal) {
    case SIGPROF: return &wanted_prof;
    case SIGSEGV: return &wanted_segv;
    case SIGBUS: return &wanted_bus;
    default: return nullptr;
  }
}

struct sigaction read_wanted(const Wanted& wanted) {
  struct sigaction copy;
  for (;;) {
    uint32_t before = wanted.version.load(std::memory_order_acquire);
    std::memcpy(&copy, &wanted.action, sizeof copy);
    std::atomic_thread_fence(std::memory_order_acquire);
    // An odd version that does not end means that we interrupted the writer: its half-written
    // state is then the best there is, and the program is changing its mind anyway.
    if (before == wanted.version.load(std::memory_order_relaxed) || (before & 1)) return copy;
  }
}

void write_wanted(Wanted* wanted, const struct sigaction& action) {
  wanted->version.fetch_add(1, std::memory_order_acq_rel);
  std::memcpy(&wanted->action, &action, sizeof action);
  wanted->version.fetch_add(1, std::memory_order_release);
}

bool has_handler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (!guarded_fault_fixup(context)) pass_on(signal, info, context);
}

void on_sample_signal(int signal, siginfo_t* info, void* context) {
  if (!handle_sample_signal(info, context)) pass_on(signal, info, context);
}

// The kernel gets our function with the program's own flags and mask, so that it
// switches stacks and blocks signals as the program expects of its handler.
struct sigaction kernel_action(int signal, const struct sigaction& program) {
  struct sigaction ours = {};
  ours.sa_flags = SA_RESTART;
  if (has_handler(program)) {
    ours.sa_flags = program.sa_flags & ~SA_RESETHAND;
    ours.sa_mask = program.sa_mask;
    if (signal == kSampleSignal) ours.sa_flags = (ours.sa_flags | SA_RESTART) & ~SA_NODEFER;
  } else if (signal != kSampleSignal) {
    ours.sa_flags = SA_ONSTACK | SA_NODEFER;
  }
  ours.sa_flags |= SA_SIGINFO;
  ours.sa_sigaction = signal == kSampleSignal ? on_sample_signal : on_fault;
  return ours;
}

void die_by_default(int signal, siginfo_t* info) {
  struct sigaction none = {};
  none.sa_handler = SIG_DFL;
  real_sigaction(signal, &none, nullptr);
  // A fault repeats by itself when we return, with its own address and core dump; a sent signal
  // must be sent again.
  if (info->si_code <= 0 || signal == kSampleSignal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    syscall(SYS_tgkill, process_id(), thread_id(), signal);
    real_sigmask(SIG_UNBLOCK, &set, nullptr);
  }
}

}  // namespace

bool is_shared_signal(int signal) { return wanted_of(signal) != nullptr; }

bool install_shared_signals() {
  bool all = true;
  for (int signal : {SIGSEGV, SIGBUS, kSampleSignal}) {
    struct sigaction before = {};
    if (real_sigaction(signal, nullptr, &before) != 0) return false;
    Wanted* wanted = wanted_of(signal);
    if (!wanted->installed.load(std::memory_order_relaxed)) write_wanted(wanted, before);
    struct sigaction ours = kernel_action(signal, read_wanted(*wanted));
    wanted->installed.store(true, std::memory_order_release);
    all = real_sigaction(signal, &ours, nullptr) == 0 && all;
  }
  return all;
}

int program_sigaction(int signal, const struct sigaction* next, struct sigaction* previous) {
  Wanted* wanted = wanted_of(signal);
  if (!wanted->installed.load(std::memory_order_acquire)) return real_sigaction(signal, next, previous);
  struct sigaction before = read_wanted(*wanted);
  if (next) {
    struct sigaction copy = *next;
    struct sigaction ours = kernel_action(signal, copy);
    // A sampling tick between the two calls sees either the old or the new wish: both are valid.
    write_wanted(wanted, copy);
    int result = real_sigaction(signal, &ours, nullptr);
    if (result != 0) {
      write_wanted(wanted, before);
      return result;
    }
  }
  if (previous) *previous = before;
  return 0;
}

bool program_uses_sample_signal() {
  struct sigaction action = read_wanted(wanted_prof);
  return has_handler(action) || action.sa_handler == SIG_IGN;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  Wanted* wanted = wanted_of(signal);
  struct sigaction action = read_wanted(*wanted);
  if (!has_handler(action)) {
    bool synchronous = info->si_code > 0 && signal != kSampleSignal;
    if (action.sa_handler == SIG_IGN && !synchronous) return;
    die_by_default(signal, info);
    return;
  }
  if (action.sa_flags & SA_RESETHAND) {
    struct sigaction reset = action;
    reset.sa_handler = SIG_DFL;
    reset.sa_flags &= ~(SA_SIGINFO | SA_RESETHAND);
    write_wanted(wanted, reset);
  }
  if (action.sa_flags & SA_SIGINFO) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
}

void check_shared_signals() {
  for (int signal : {SIGSEGV, SIGBUS, kSampleSignal}) {
    struct sigaction now = {};
    if (real_sigaction(signal, nullptr, &now) != 0) continue;
    bool ours = (now.sa_flags & SA_SIGINFO) &&
                now.sa_sigaction == (signal == kSampleSignal ? on_sample_signal : on_fault);
    if (ours) continue;
    count_loss(signal == kSampleSignal ? Loss::SignalLost : Loss::FaultGuardLost);
    // Once may be a library that starts; more often is a quarrel, and the guest leaves it.
    if (++times_taken_back > kMaxTakenBack) {
      set_sampling(false);
      return;
    }
    write_wanted(wanted_of(signal), now);
    struct sigaction again = kernel_action(signal, now);
    real_sigaction(signal, &again, nullptr);
  }
}

}  // namespace sonde
