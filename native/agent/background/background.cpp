#include "background/background.h"

#include <link.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <atomic>

#include "background/recorder.h"
#include "common/clock.h"
#include "common/page.h"
#include "common/system.h"
#include "core/agent.h"
#include "heap/own_arena.h"
#include "signals/real.h"
#include "threads/create.h"

namespace sonde {
namespace {

constexpr uint64_t kFinishWithinNs = 1'000'000'000;
constexpr size_t kStackBytes = 256u << 10;
constexpr uint64_t kOpenAgainNs = 1'000'000'000;  // a log that could not be created
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

// Libc takes the thread-local variables of all libraries that are there at the start from the stack of a new thread.
// Asked once, when the agent starts: in the child of a fork another thread may have taken the loader's lock with it.
size_t static_tls_bytes() {
  static constinit size_t known = 0;
  if (known) return known;
  size_t total = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* sum) {
        for (int i = 0; i < info->dlpi_phnum; i++) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type == PT_TLS) *static_cast<size_t*>(sum) += segment.p_memsz + segment.p_align;
        }
        return 0;
      },
      &total);
  known = (total + page_bytes()) & ~(page_bytes() - 1);  // never zero
  return known;
}

void* run(void*) {
  prctl(PR_SET_NAME, "sonde");
  // Blocks switch the events of all threads from here, by the program's descriptors.
  if (!agent_options().blocks) take_private_descriptors();
  background_tid.store(thread_id(), std::memory_order_relaxed);
  uint64_t started_ns = mono_ns();
  uint64_t next_open_ns = started_ns + kSettleNs;
  if (open_at_once) {  // however short the program is
    pthread_mutex_lock(&pass_lock);
    if (!recorder.open()) next_open_ns = started_ns + kOpenAgainNs;
    pthread_mutex_unlock(&pass_lock);
  }
  uint32_t seen = bell.load(std::memory_order_acquire);
  while (state.load(std::memory_order_acquire) == kRunning) {
    const uint32_t before = seen;
    seen = bell.load(std::memory_order_acquire);
    serve_arena_request();
    uint64_t now_ns = mono_ns();
    if (recorder.is_open() || now_ns >= next_open_ns) {
      pthread_mutex_lock(&pass_lock);
      if (recorder.is_open() || recorder.open()) recorder.tend(now_ns, seen != before);
      else next_open_ns = now_ns + kOpenAgainNs;
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
  note_libc();
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
  pthread_attr_setstacksize(&attributes, kStackBytes + static_tls_bytes());
  int error = real_pthread_create(&background_thread, &attributes, run, nullptr);
  pthread_attr_destroy(&attributes);
  real_sigmask(SIG_SETMASK, &before, nullptr);
  if (error) state.store(kAbsent, std::memory_order_release);
  return error == 0;
}

bool is_background_tid(int tid) { return background_tid.load(std::memory_order_relaxed) == tid; }

bool background_exists() {
  const int tid = background_tid.load(std::memory_order_relaxed);
  return state.load(std::memory_order_acquire) != kAbsent && tid && syscall(SYS_tgkill, process_id(), tid, 0) == 0;
}

bool background_started() { return state.load(std::memory_order_acquire) != kAbsent; }

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
  uint32_t expected = kFinished;  // one thread alone may join it
  if (!state.compare_exchange_strong(expected, kAbsent)) return;
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
  background_tid.store(0, std::memory_order_relaxed);
  if (clean) recorder.forget();
}

}  // namespace sonde
