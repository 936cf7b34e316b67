#include "background/background.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <atomic>

#include "background/recorder.h"
#include "common/clock.h"
#include "common/system.h"
#include "core/agent.h"
#include "signals/real.h"
#include "threads/create.h"

namespace sonde {
namespace {

constexpr uint64_t kFinishWithinNs = 1'000'000'000;
constexpr long kForkWaitNs = 300'000'000;
constexpr long kGoneWithinNs = 500'000'000;

enum State : uint32_t { kAbsent, kRunning, kFinishing, kFinished };

constinit Recorder recorder;
constinit pthread_mutex_t pass_lock = PTHREAD_MUTEX_INITIALIZER;  // held during a pass
constinit std::atomic<uint32_t> state{kAbsent};
constinit std::atomic<uint32_t> bell{0};  // rung to wake the thread
constinit std::atomic<uint32_t> end_reason{0};
constinit std::atomic<int> background_tid{0};
constinit bool open_at_once = false;
constinit pthread_t background_thread{};

void ring_bell() {
  bell.fetch_add(1, std::memory_order_release);
  futex_wake(&bell);
}

timespec deadline(long within_ns) {
  timespec until = {};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += within_ns;
  if (until.tv_nsec >= 1'000'000'000) {
    until.tv_sec++;
    until.tv_nsec -= 1'000'000'000;
  }
  return until;
}

void* run(void*) {
  prctl(PR_SET_NAME, "sonde");
  // Blocks switch the events of all threads from here, by the program's descriptors.
  if (!agent_options().blocks) take_private_descriptors();
  background_tid.store(thread_id(), std::memory_order_relaxed);
  uint64_t started_ns = mono_ns();
  bool open_failed = false;
  if (open_at_once) open_failed = !recorder.open();
  uint32_t seen = bell.load(std::memory_order_acquire);
  while (state.load(std::memory_order_acquire) == kRunning) {
    const uint32_t before = seen;
    seen = bell.load(std::memory_order_acquire);
    uint64_t now_ns = mono_ns();
    if (!open_failed && (recorder.is_open() || now_ns - started_ns >= kSettleNs)) {
      pthread_mutex_lock(&pass_lock);
      if (!recorder.is_open()) open_failed = !recorder.open();
      if (!open_failed) recorder.tend(now_ns, seen != before);
      pthread_mutex_unlock(&pass_lock);
    }
    if (state.load(std::memory_order_acquire) != kRunning) break;
    futex_wait(&bell, seen, recorder.is_open() ? recorder.sleep_ns(mono_ns()) : kSettleNs);
  }
  if (recorder.is_open()) {
    recorder.finish(static_cast<log::EndReason>(end_reason.load()), background_tid.load());
  }
  state.store(kFinished, std::memory_order_release);
  futex_wake(&state);
  return nullptr;
}

}  // namespace

bool start_background(log::ProcessOrigin origin) {
  // A child of a fork or an exec is often a short-lived helper: it earns its log by living.
  open_at_once = origin == log::ProcessOrigin::Started;
  recorder.begin(origin, mono_ns());
  if (state.load(std::memory_order_acquire) == kFinished) pthread_detach(background_thread);  // sampling resumes
  state.store(kRunning, std::memory_order_release);
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGSEGV);  // guarded reads fault here too
  sigdelset(&all, SIGBUS);
  real_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256u << 10);
  int error = real_pthread_create(&background_thread, &attributes, run, nullptr);
  pthread_attr_destroy(&attributes);
  real_sigmask(SIG_SETMASK, &before, nullptr);
  if (error) state.store(kAbsent, std::memory_order_release);
  return error == 0;
}

void wake_background() { ring_bell(); }

bool finish_background(log::EndReason reason) {
  uint32_t expected = kRunning;
  end_reason.store(static_cast<uint32_t>(reason), std::memory_order_relaxed);
  if (!state.compare_exchange_strong(expected, kFinishing)) return expected == kAbsent || expected == kFinished;
  ring_bell();
  uint64_t give_up_ns = mono_ns() + kFinishWithinNs;
  while (state.load(std::memory_order_acquire) == kFinishing) {
    uint64_t now_ns = mono_ns();
    if (now_ns >= give_up_ns) return false;
    futex_wait(&state, kFinishing, give_up_ns - now_ns);
  }
  return true;
}

void see_background_off() {
  if (state.load(std::memory_order_acquire) != kFinished) return;
  state.store(kAbsent, std::memory_order_release);
  const timespec until = deadline(kGoneWithinNs);
  if (pthread_timedjoin_np(background_thread, nullptr, &until) != 0) pthread_detach(background_thread);
}

bool background_before_fork() {
  const timespec until = deadline(kForkWaitNs);
  return pthread_mutex_timedlock(&pass_lock, &until) == 0;
}

void background_after_fork_in_parent() { pthread_mutex_unlock(&pass_lock); }

void background_after_fork_in_child(bool clean) {
  pthread_mutex_init(&pass_lock, nullptr);
  state.store(kAbsent, std::memory_order_release);
  if (clean) recorder.forget();
}

}  // namespace sonde
