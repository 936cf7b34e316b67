// prctl and syscall as the program calls them: a filter of system calls is announced and installed by one of them
// (libseccomp calls seccomp(2) by its number). Not seen: a program that executes the instruction itself.
#include "process/confined.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>

#include "background/background.h"
#include "common/clock.h"
#include "core/agent.h"
#include "engine/shared_rate.h"
#include "log/loss.h"
#include "signals/real.h"
#include "threads/registry.h"

namespace sonde {
namespace {
using Prctl = int (*)(int, ...);
using Syscall = long (*)(long, long, long, long, long, long, long);
Prctl prctl_cached;
Syscall syscall_cached;
constinit std::atomic<bool> confined{false}, filtered{false};

constexpr uint64_t kOutWithinNs = 1'000'000'000;

// Sampling has ended, but a thread may have lost its CPU inside a handler, with its clock still to be set.
void see_handlers_out() {
  const uint64_t until_ns = mono_ns() + kOutWithinNs;
  for (uint32_t i = 0; i < thread_slots(); i++) {
    Thread* const thread = thread_at(i);
    if (thread == current_thread()) continue;
    while (thread->phase.load(std::memory_order_acquire) == Phase::Live &&
           thread->in_handler.load(std::memory_order_acquire) && mono_ns() < until_ns) {
      const timespec moment = {0, 100'000};
      clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, nullptr);
    }
  }
}

// Before the call: a tick may come right behind it. A filter that binds every thread binds Sonde's as well: then the log
// ends here, and Sonde's thread with it.
void note_filter(bool every_thread) {
  if (every_thread) {
    count_loss(Loss::ThreadsConfined);
    agent_stop(log::EndReason::Exit);
    see_background_off();
    see_handlers_out();
  }
  confined.store(true, std::memory_order_relaxed);
  if (filtered.exchange(true, std::memory_order_acq_rel)) return;
  // Handlers no longer set their clocks, which go on with the period that they have: let it be a whole one.
  for (uint32_t i = 0; i < thread_slots(); i++) {
    Thread* const thread = thread_at(i);
    Engine* const engine = thread->phase.load(std::memory_order_acquire) == Phase::Live ? thread->engine : nullptr;
    if (engine) engine->set_period(thread, 1'000'000'000u / current_rate_hz());
  }
}

}  // namespace

bool is_confined() { return confined.load(std::memory_order_relaxed); }
bool is_filtered() { return filtered.load(std::memory_order_acquire); }

void resolve_system_calls() { real(&syscall_cached, "syscall"); }

}  // namespace sonde

using namespace sonde;

SONDE_EXPORT int prctl(int option, ...) noexcept {
  va_list list;
  va_start(list, option);
  unsigned long arguments[4];
  for (unsigned long& argument : arguments) argument = va_arg(list, unsigned long);
  va_end(list);
  const bool was_filtered = is_filtered();
  if (option == PR_SET_NO_NEW_PRIVS) confined.store(true, std::memory_order_relaxed);
  if (option == PR_SET_SECCOMP) note_filter(arguments[0] == SECCOMP_MODE_STRICT);
  const int result = real(&prctl_cached, "prctl")(option, arguments[0], arguments[1], arguments[2], arguments[3]);
  if (option == PR_SET_SECCOMP && result != 0) filtered.store(was_filtered, std::memory_order_release);
  return result;
}

// Not as a variadic function, which could not hand its arguments on by a jump: samples in a system call show libc's.
extern "C" __attribute__((visibility("default"))) long sonde_syscall(long number, long a, long b, long c, long d, long e,
                                                                     long f) __asm__("syscall");
long sonde_syscall(long number, long a, long b, long c, long d, long e, long f) {
  const Syscall call = real(&syscall_cached, "syscall");
  if (__builtin_expect(number == SYS_seccomp, false) && (a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER)) {
    const bool was_filtered = is_filtered();
    note_filter(a == SECCOMP_SET_MODE_STRICT || (b & SECCOMP_FILTER_FLAG_TSYNC));
    const long result = call(number, a, b, c, d, e, f);
    if (result != 0) filtered.store(was_filtered, std::memory_order_release);
    return result;
  }
  return call(number, a, b, c, d, e, f);
}
