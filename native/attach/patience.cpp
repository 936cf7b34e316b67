#include "patience.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace sonde::attach {
namespace {

const int kWakeSignal = SIGRTMAX - 2;
constexpr uint64_t kSecondNs = 1'000'000'000, kAgainNs = 20'000'000;  // a signal right before the call is lost: one more follows

}  // namespace

uint64_t now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecondNs + static_cast<uint64_t>(now.tv_nsec);
}

Patience::Patience() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  sigaction(kWakeSignal, &action, &before_);
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kWakeSignal;
  event.sigev_notify_thread_id = static_cast<int>(syscall(SYS_gettid));
  has_timer_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
}

Patience::~Patience() {
  if (has_timer_) timer_delete(timer_);
  sigaction(kWakeSignal, &before_, nullptr);
}

bool Patience::wait_for(int tid, int* status, uint64_t limit_ns) {
  if (!has_timer_) return false;
  const uint64_t end_ns = now_ns() + limit_ns;
  itimerspec when = {{0, static_cast<long>(kAgainNs)},
                     {static_cast<time_t>(limit_ns / kSecondNs), static_cast<long>(limit_ns % kSecondNs) + 1}};
  timer_settime(timer_, 0, &when, nullptr);
  bool found = false;
  for (;;) {
    const pid_t who = waitpid(tid, status, __WALL);
    if (who == tid) {
      found = true;
      break;
    }
    if (who < 0 && errno != EINTR) break;
    if (now_ns() >= end_ns) break;
  }
  const itimerspec never = {};
  timer_settime(timer_, 0, &never, nullptr);
  return found;
}

}  // namespace sonde::attach
