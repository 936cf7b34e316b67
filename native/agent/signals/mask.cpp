#include "signals/mask.h"

#include <errno.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>

#include "common/clock.h"
#include "common/system.h"
#include "core/agent.h"
#include "engine/engine.h"
#include "engine/shared_rate.h"
#include "log/loss.h"
#include "process/confined.h"
#include "signals/descriptors.h"
#include "signals/policy.h"
#include "signals/real.h"
#include "signals/shared.h"
#include "threads/registry.h"

namespace sonde {
namespace {

// The program believes that SIGPROF is blocked in this thread.
__thread bool believed_blocked __attribute__((tls_model("initial-exec"))) = false;
// It really is, because the program takes it.
__thread bool held __attribute__((tls_model("initial-exec"))) = false;
constinit std::atomic<bool> taken{false};

constexpr uint64_t kShortestWaitNs = 100'000;

// A tick that waits already would be taken for the program's signal. At most one is pending in a thread, and it comes
// before those of the process. SIGPROF is blocked here.
void drop_pending_tick() {
  const uint64_t set = mask_bit(kSampleSignal);
  const timespec at_once = {};
  siginfo_t info = {};
  if (syscall(SYS_rt_sigtimedwait, &set, &info, &at_once, sizeof set) != kSampleSignal) return;
  if (classify_tick(&info) == Tick::Foreign) send_again(info);
}

void stop_clock() {
  if (held) return;
  held = true;
  count_loss(Loss::ThreadsSignalTaken);
  if (is_filtered()) return;
  Thread* thread = current_thread();
  if (thread && thread->engine) thread->engine->pause(thread, true);
  drop_pending_tick();
}

void block_in(void* context) { sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, kSampleSignal); }

int change_mask(int how, const sigset_t* set, sigset_t* previous) {
  const bool named = sigismember(set, kSampleSignal) == 1;
  const bool before = believed_blocked;
  const bool after = how == SIG_SETMASK ? named : named ? how == SIG_BLOCK : before;
  const bool for_good = taken.load(std::memory_order_acquire);
  sigset_t kernels = *set;
  if (!after) {  // first: what is pending arrives within the call
    believed_blocked = false;
    if (held) {
      held = false;
      start_clock();
    }
  } else if (named && !for_good) {
    sigdelset(&kernels, kSampleSignal);
  }
  const int error = real_sigmask(how, &kernels, previous);
  if (error) return error;
  if (after) believed_blocked = true;
  if (after && named && for_good) stop_clock();
  if (previous && before) sigaddset(previous, kSampleSignal);
  return 0;
}

}  // namespace

int program_sigmask(int how, const sigset_t* set, sigset_t* previous) {
  if (!agent_present()) return real_sigmask(how, set, previous);
  if (set && (how == SIG_BLOCK || how == SIG_UNBLOCK || how == SIG_SETMASK)) {
    const sigset_t wanted = *set;  // may be the same as *previous
    return change_mask(how, &wanted, previous);
  }
  const int error = real_sigmask(how, set, previous);
  if (error == 0 && previous && believed_blocked) sigaddset(previous, kSampleSignal);
  return error;
}

void adopt_inherited_mask() {
  sigset_t only, now;
  sigemptyset(&only);
  sigaddset(&only, kSampleSignal);
  if (real_sigmask(SIG_BLOCK, nullptr, &now) != 0 || sigismember(&now, kSampleSignal) != 1) return;
  believed_blocked = true;  // first: what is pending arrives within the call
  if (sample_signal_taken()) stop_clock();
  else real_sigmask(SIG_UNBLOCK, &only, nullptr);
}

bool sample_signal_believed_blocked() { return believed_blocked; }
void inherit_belief(bool blocked) { believed_blocked = blocked; }
bool sample_signal_taken() { return taken.load(std::memory_order_acquire); }
bool sample_signal_held() { return held; }

bool rest_clock() {
  Thread* thread = current_thread();
  if (held || !thread || !thread->engine || is_filtered()) return false;
  thread->engine->pause(thread, true);
  return true;
}

// A thread that unblocks often must not put off its next tick for ever.
void start_clock() {
  Thread* thread = current_thread();
  if (!thread || !thread->engine || is_filtered()) return;
  const int saved = errno;
  const uint64_t now_ns = thread_cpu_ns();
  const uint64_t due_ns = thread->accounted_ns.load(std::memory_order_relaxed) + 1'000'000'000u / current_rate_hz();
  thread->engine->pause(thread, false);
  thread->engine->set_period(thread, due_ns > now_ns + kShortestWaitNs ? due_ns - now_ns : kShortestWaitNs);
  errno = saved;
}

void send_again(const siginfo_t& info) {
  const int saved = errno;
  const bool to_thread = info.si_code == SI_TKILL;
  const int tid = thread_id();
  siginfo_t copy = info;
  // By the thread's own number, which the kernel asks for where somebody else's name is given as the sender: it stands for
  // its process. A filter of system calls may know the plain ones alone.
  long failed = -1;
  if (!is_filtered()) {
    failed = to_thread ? syscall(SYS_rt_tgsigqueueinfo, process_id(), tid, kSampleSignal, &copy)
                       : syscall(SYS_rt_sigqueueinfo, tid, kSampleSignal, &copy);
  }
  if (failed) {
    if (to_thread) syscall(SYS_tgkill, process_id(), tid, kSampleSignal);
    else syscall(SYS_kill, process_id(), kSampleSignal);
  }
  errno = saved;
}

bool keep_pending(const siginfo_t* info, void* context) {
  if (!believed_blocked) return false;
  const int saved = errno;
  taken.store(true, std::memory_order_release);
  stop_clock();
  block_in(context);
  open_descriptors();
  send_again(*info);
  errno = saved;
  return true;
}

void settle_mask(void* context) {
  if (!sample_signal_taken() || !believed_blocked) return;
  stop_clock();
  block_in(context);
}

}  // namespace sonde
