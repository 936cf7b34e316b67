#include "engine/cpu_timer.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "common/clock.h"
#include "signals/shared.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace sonde {
namespace {
// Addresses that come back with the signal: the first of all timers, the others of those of adopted threads, which
// cannot be told by a thread-local variable.
char cookies[1 + kMaxThreads];

itimerspec every(uint64_t period_ns) {
  timespec t = {static_cast<time_t>(period_ns / 1'000'000'000u), static_cast<long>(period_ns % 1'000'000'000u)};
  return {t, t};
}
}  // namespace

bool is_our_timer(const siginfo_t* info) {
  const auto* cookie = static_cast<const char*>(info->si_value.sival_ptr);
  return info->si_code == SI_TIMER && cookie >= cookies && cookie < cookies + sizeof cookies;
}

int timer_slot(const siginfo_t* info) {
  if (!is_our_timer(info)) return -1;
  return static_cast<int>(static_cast<const char*>(info->si_value.sival_ptr) - cookies) - 1;
}

bool open_timer(Thread* thread, uint64_t period_ns) {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kSampleSignal;
  event.sigev_value.sival_ptr = &cookies[thread->adopted ? 1 + thread->slot : 0];
  event.sigev_notify_thread_id = thread->tid;
  if (timer_create(thread_cpu_clock(thread->tid), &event, &thread->timer) != 0) return false;
  itimerspec when = every(period_ns);
  if (timer_settime(thread->timer, 0, &when, nullptr) != 0) {
    timer_delete(thread->timer);
    return false;
  }
  thread->has_timer = true;
  return true;
}

void close_timer(Thread* thread) {
  if (!thread->has_timer) return;
  thread->has_timer = false;
  timer_delete(thread->timer);
}

void set_timer_period(Thread* thread, uint64_t period_ns) {
  if (!thread->has_timer) return;
  itimerspec when = every(period_ns);
  timer_settime(thread->timer, 0, &when, nullptr);
}

}  // namespace sonde
