#include "signals/interrupted_call.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "arch/arch.h"
#include "common/clock.h"
#include "common/system.h"
#include "process/confined.h"
#include "signals/alternate_stack.h"
#include "signals/policy.h"
#include "signals/shared.h"

namespace sonde {
namespace {

constexpr uint64_t kInterrupted = static_cast<uint64_t>(-EINTR);

// The kernel's form.
struct KernelAction {
  void (*handler)(int);
  uint64_t flags;
  void (*restorer)();
  uint64_t mask;
};

// Nothing of memory is looked at before the registers fit.
bool was_in_call(const ucontext_t* context, CallPlace place) {
  return registers_fit_call(context, place) && let_faults_through(context) && has_call_instruction(context, place);
}

bool is_plain_futex_wait(const ucontext_t* context) {
  const uint64_t operation = call_argument(context, 1) & FUTEX_CMD_MASK;
  return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
}

// Calls that wait and end with EINTR after a handler without SA_RESTART. Others are rewound after every handler (fork,
// clone, futexes with priority inheritance): the programs do not expect EINTR from them.
bool may_be_ended(uint64_t number, const ucontext_t* context) {
  switch (modern_call(static_cast<int64_t>(number))) {
    case SYS_read: case SYS_readv: case SYS_pread64: case SYS_preadv: case SYS_preadv2:
    case SYS_write: case SYS_writev: case SYS_pwrite64: case SYS_pwritev: case SYS_pwritev2:
    case SYS_recvfrom: case SYS_recvmsg: case SYS_recvmmsg: case SYS_sendto: case SYS_sendmsg: case SYS_sendmmsg:
    case SYS_accept: case SYS_accept4: case SYS_connect:
    case SYS_splice: case SYS_tee: case SYS_vmsplice: case SYS_sendfile:
    case SYS_wait4: case SYS_waitid:
    case SYS_openat: case SYS_openat2: case SYS_flock: case SYS_fcntl: case SYS_ioctl:
    case SYS_mq_timedsend: case SYS_mq_timedreceive: case SYS_getrandom:
      return true;
    case SYS_futex:
      return is_plain_futex_wait(context);
    default:
      return false;
  }
}

// Calls that end with EINTR after every handler and may be made again with the same arguments. Times to wait are
// counted anew. For most that is exact: a time that has run out is reported before a signal, so EINTR means that the
// wait had not begun; or the kernel has written back what is left (select). For poll and for sockets with a timeout
// it is not: a timeout that meets a tick takes twice as long.
bool may_be_repeated(uint64_t number, const ucontext_t* context) {
  switch (modern_call(static_cast<int64_t>(number))) {
    case SYS_ppoll: case SYS_pselect6: case SYS_epoll_pwait: case SYS_epoll_pwait2:
    case SYS_nanosleep: case SYS_clock_nanosleep: case SYS_rt_sigsuspend: case SYS_rt_sigtimedwait:
    case SYS_semop: case SYS_semtimedop: case SYS_msgsnd: case SYS_msgrcv: case SYS_io_getevents:
    case SYS_read: case SYS_readv: case SYS_recvfrom: case SYS_recvmsg: case SYS_accept: case SYS_accept4:
    case SYS_write: case SYS_writev: case SYS_sendto: case SYS_sendmsg:
      return true;
    case SYS_futex:
      return is_plain_futex_wait(context);
    default:
      return false;
  }
}

// Of this thread or the process. The tick blocks all that matter, and only blocked signals are told.
uint64_t pending_signals() {
  uint64_t pending = 0;
  return syscall(SYS_rt_sigpending, &pending, sizeof pending) == 0 ? pending : 0;
}

// Has one of these signals a handler without this flag? The kernel is asked: it knows of handlers that were set by
// a bare system call, too.
bool any_handled(uint64_t signals, uint64_t without) {
  for (; signals; signals &= signals - 1) {
    const int signal = __builtin_ctzll(signals) + 1;
    KernelAction action = {};
    if (syscall(SYS_rt_sigaction, signal, nullptr, &action, sizeof action.mask) != 0) continue;
    if (action.handler != SIG_DFL && action.handler != SIG_IGN && !(action.flags & without)) return true;
  }
  return false;
}

// The last handler that took a signal of the process outside of the main thread, and when. Two that run at once may
// mix here: then one of them counts for both.
struct Elsewhere {
  std::atomic<uint64_t> time_ns{0}, signal{0}, flags{0};
};
constinit Elsewhere last_elsewhere;

// From the program's handler there to the tick's here: both became due at once, but a busy machine runs one first.
constexpr uint64_t kPassedOnWithin = 4'000'000;  // ns

bool was_passed_on(uint64_t tick_ns, uint64_t unblocked, uint64_t without) {
  if (process_id() != thread_id()) return false;
  if (last_elsewhere.time_ns.load(std::memory_order_acquire) + kPassedOnWithin < tick_ns) return false;
  if (!(last_elsewhere.signal.load(std::memory_order_relaxed) & unblocked) ||
      (last_elsewhere.flags.load(std::memory_order_relaxed) & without)) {
    return false;
  }
  last_elsewhere.time_ns.store(0, std::memory_order_relaxed);  // one signal ends one call
  return true;
}

}  // namespace

InterruptedCall::InterruptedCall(ucontext_t* context, bool own_variables)
    : own_variables_(own_variables), context_(context) {
  if (is_filtered()) return;  // to look costs system calls
  const uint64_t word = number_or_result(context);
  if (may_be_ended(word, context) && was_in_call(context, CallPlace::Before)) {
    state_ = State::Rewound;
  } else if (word == kInterrupted && was_in_call(context, CallPlace::Behind)) {
    if (number_from_code(context, &number_) && may_be_repeated(number_, context)) state_ = State::Ended;
  }
  if (state_ == State::None) return;
  pending_ = pending_signals();
  began_ns_ = mono_ns();
}

// Does a handler (without this flag) run when the tick returns, or did it in another thread in this one's place?
bool InterruptedCall::signal_comes(uint64_t without) const {
  const uint64_t unblocked = ~mask_of(context_->uc_sigmask) & ~mask_bit(kSampleSignal);
  return any_handled((pending_ | pending_signals()) & unblocked, without) ||
         was_passed_on(began_ns_, unblocked, without);
}

void InterruptedCall::put_right() const {
  if (state_ == State::None) return;
  if (state_ == State::Rewound) {
    if (signal_comes(SA_RESTART)) end_rewound_call(context_);
    return;
  }
  if (signal_comes(0)) return;
  // A handler of the program may have ended the call, and the tick come when it returned. No instruction has run
  // since: its frame still lies below the stack pointer, or on the stack that the program gave for it.
  if (has_frame_below(sp_of(context_) - kRedZoneBytes, context_)) return;
  const uint64_t other = own_variables_ ? program_alternate_stack().high : 0;
  if (other && has_frame_below(other, context_)) return;
  make_call_again(context_, number_);
}

void note_program_handler(const siginfo_t* info, const struct sigaction& action) {
  if (info->si_code == SI_TKILL || is_filtered() || process_id() == thread_id()) return;
  last_elsewhere.signal.store(mask_bit(info->si_signo), std::memory_order_relaxed);
  last_elsewhere.flags.store(static_cast<uint64_t>(action.sa_flags), std::memory_order_relaxed);
  last_elsewhere.time_ns.store(mono_ns(), std::memory_order_release);
}

void end_rewound_call(ucontext_t* context) {
  if (!may_be_ended(number_or_result(context), context) || !was_in_call(context, CallPlace::Before)) return;
  skip_call(context, kInterrupted);
}

}  // namespace sonde
