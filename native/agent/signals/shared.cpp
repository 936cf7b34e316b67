#include "signals/shared.h"

#include <errno.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <initializer_list>

#include "common/guarded_memory.h"
#include "common/system.h"
#include "core/agent.h"
#include "log/loss.h"
#include "sample/handler.h"
#include "signals/deliver.h"
#include "signals/interrupted_call.h"
#include "signals/mask.h"
#include "signals/policy.h"
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
constexpr int kSignals = 65;
constexpr int kShared[] = {SIGSEGV, SIGBUS, kSampleSignal};
constinit Wanted wanted_of_signal[kSignals];

Wanted* wanted_of(int signal) { return &wanted_of_signal[signal]; }

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

void on_fault(int signal, siginfo_t* info, void* context) {
  if (guarded_fault_fixup(context)) return;
  const bool sent = info->si_code <= 0;
  if (!(sent && put_off_until_sampled(signal, info, context))) pass_on(signal, info, context);
}

void on_sample_signal(int signal, siginfo_t* info, void* context) {
  if (!handle_sample_signal(info, context) && !keep_pending(info, context)) pass_on(signal, info, context);
}

void on_forwarded(int signal, siginfo_t* info, void* context) { pass_on(signal, info, context); }

bool is_ours(int signal, const struct sigaction& action) {
  const Handler handler = signal == kSampleSignal     ? on_sample_signal
                          : is_shared_signal(signal) ? on_fault
                                                     : on_forwarded;
  return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == handler;
}

struct sigaction kernel_action(int signal, const struct sigaction& program) {
  if (signal == kSampleSignal) return sampling_action(on_sample_signal);
  return is_shared_signal(signal) ? fault_action(on_fault, program) : forwarded_action(on_forwarded, program);
}

// The handler is the program's to run: with the mask that it asked for, where Sonde's was in force.
void take_program_mask(int signal, const struct sigaction& action, const void* context) {
  const uint64_t mask = handler_mask(signal, action, mask_of(static_cast<const ucontext_t*>(context)->uc_sigmask));
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, nullptr, sizeof mask);
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

bool is_shared_signal(int signal) { return signal == SIGSEGV || signal == SIGBUS || signal == kSampleSignal; }

bool install_shared_signals() {
  bool all = true;
  for (int signal : kShared) {
    struct sigaction before = {};
    if (real_sigaction(signal, nullptr, &before) != 0) return false;
    Wanted* wanted = wanted_of(signal);
    if (!wanted->installed.load(std::memory_order_relaxed)) write_wanted(wanted, before);
    struct sigaction ours = kernel_action(signal, read_wanted(*wanted));
    wanted->installed.store(true, std::memory_order_release);
    all = real_sigaction(signal, &ours, nullptr) == 0 && all;
  }
  // Handlers that other libraries installed before us.
  for (int signal = 1; signal < kSignals; signal++) {
    struct sigaction before = {};
    if (is_shared_signal(signal) || real_sigaction(signal, nullptr, &before) != 0) continue;
    if (needs_forwarding(before) && !is_ours(signal, before)) forward_sigaction(signal, &before, nullptr);
  }
  return all;
}

void remove_shared_signals(bool ticks_may_come) {
  for (int signal = 1; signal < kSignals; signal++) {
    struct sigaction now = {};
    if (signal == kSampleSignal && ticks_may_come) continue;
    if (real_sigaction(signal, nullptr, &now) != 0 || !is_ours(signal, now)) continue;
    Wanted* wanted = wanted_of(signal);
    const struct sigaction program = read_wanted(*wanted);
    real_sigaction(signal, &program, nullptr);
    wanted->installed.store(false, std::memory_order_release);
  }
  times_taken_back = 0;
}

int forward_sigaction(int signal, const struct sigaction* next, struct sigaction* previous) {
  if (signal <= 0 || signal >= kSignals) return real_sigaction(signal, next, previous);
  Wanted* wanted = wanted_of(signal);
  const struct sigaction before = read_wanted(*wanted);
  struct sigaction ours = {}, kernels = {};
  const struct sigaction* given = next;
  // Our own function comes back from those who asked libc behind our back (sigset): what it stood for still holds.
  if (next && needs_forwarding(*next) && !is_ours(signal, *next)) {
    ours = kernel_action(signal, *next);
    write_wanted(wanted, *next);
    given = &ours;
  }
  const int result = real_sigaction(signal, given, &kernels);
  if (result != 0) {
    if (given == &ours) write_wanted(wanted, before);
    return result;
  }
  if (previous) *previous = is_ours(signal, kernels) ? before : kernels;
  return 0;
}

sighandler_t forwarded_handler(int signal, sighandler_t handler) {
  if (reinterpret_cast<void*>(handler) != reinterpret_cast<void*>(on_forwarded)) return handler;
  return read_wanted(*wanted_of(signal)).sa_handler;
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

bool program_handles_sample_signal() { return has_handler(read_wanted(*wanted_of(kSampleSignal))); }

void pass_on(int signal, siginfo_t* info, void* context) {
  Wanted* wanted = wanted_of(signal);
  struct sigaction action = read_wanted(*wanted);
  if (!has_handler(action)) {
    bool synchronous = info->si_code > 0 && signal != kSampleSignal;
    if (action.sa_handler == SIG_IGN && !synchronous) return;
    die_by_default(signal, info);
    return;
  }
  note_program_handler(info, action);
  if (action.sa_flags & SA_RESETHAND) {
    struct sigaction reset = action;
    reset.sa_handler = SIG_DFL;
    reset.sa_flags &= ~(SA_SIGINFO | SA_RESETHAND);
    write_wanted(wanted, reset);
  }
  if (signal == kSampleSignal) {
    if (!(action.sa_flags & SA_RESTART)) end_rewound_call(static_cast<ucontext_t*>(context));
    take_program_mask(signal, action, context);
  }
  deliver(signal, action, info, context);
}

void check_shared_signals() {
  for (int signal : kShared) {
    struct sigaction now = {};
    if (real_sigaction(signal, nullptr, &now) != 0) continue;
    if (is_ours(signal, now)) continue;
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
