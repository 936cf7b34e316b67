// sigwait, sigwaitinfo, sigtimedwait and sigpending as the program calls them: a tick is never its signal, and never
// ends its wait. Cancellation points like the originals.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "core/agent.h"
#include "engine/engine.h"
#include "signals/mask.h"
#include "signals/real.h"
#include "signals/shared.h"

namespace sonde {
namespace {

using Sigpending = int (*)(sigset_t*);
Sigpending sigpending_cached;

constexpr uint64_t kSecondNs = 1'000'000'000;

bool is_tick(const siginfo_t& info) {
  const Tick tick = classify_tick(&info);
  return tick == Tick::Unclear ? !sample_signal_held() : tick != Tick::Foreign;
}

// Not libc's, which hides whether a signal was sent to the thread or to the process.
int wait_once(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  int type = 0;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
  const long number = syscall(SYS_rt_sigtimedwait, set, info, timeout, sizeof(uint64_t));
  pthread_setcanceltype(type, nullptr);
  return static_cast<int>(number);
}

// As libc gives it to the program.
void tell(siginfo_t* info, const siginfo_t& found) {
  if (!info) return;
  *info = found;
  if (info->si_code == SI_TKILL) info->si_code = SI_USER;
}

// A tick that is in the set is taken and dropped; one that is not would be handled, and the wait would end with EINTR. So
// SIGPROF is in the set of every wait.
int wait_for(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  const bool asked = sigismember(set, kSampleSignal) == 1;
  const uint64_t start_ns = timeout ? mono_ns() : 0;
  const uint64_t length_ns =
      timeout ? static_cast<uint64_t>(timeout->tv_sec) * kSecondNs + static_cast<uint64_t>(timeout->tv_nsec) : 0;
  timespec left = timeout ? *timeout : timespec{};
  for (;;) {
    sigset_t wanted = *set;
    if (agent_present() && !sample_signal_held()) sigaddset(&wanted, kSampleSignal);
    siginfo_t found = {};
    const int number = wait_once(&wanted, &found, timeout ? &left : nullptr);
    const bool tick = agent_present() && number == kSampleSignal && is_tick(found);
    if (number != kSampleSignal || (asked && !tick)) {
      if (number > 0) tell(info, found);
      return number;
    }
    if (!tick) {  // a SIGPROF that the program did not ask for: it is delivered, or blocked and waits
      const bool blocked = sample_signal_believed_blocked();
      send_again(found);
      if (!blocked) {
        errno = EINTR;
        return -1;
      }
    }
    if (timeout) {
      const uint64_t spent_ns = mono_ns() - start_ns;
      const uint64_t left_ns = length_ns > spent_ns ? length_ns - spent_ns : 0;
      left = {static_cast<time_t>(left_ns / kSecondNs), static_cast<long>(left_ns % kSecondNs)};
    }
  }
}

}  // namespace

void resolve_waits() { real(&sigpending_cached, "sigpending"); }

}  // namespace sonde

using namespace sonde;

SONDE_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  return wait_for(set, info, timeout);
}

SONDE_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* info) { return wait_for(set, info, nullptr); }

SONDE_EXPORT int sigwait(const sigset_t* set, int* number) {
  siginfo_t info;
  int found;
  do found = wait_for(set, &info, nullptr);
  while (found < 0 && errno == EINTR);
  if (found < 0) return errno;
  *number = found;
  return 0;
}

// Where SIGPROF is not held, what is pending is a tick on its way, or a signal that arrives before the call returns and is
// held from then on.
SONDE_EXPORT int sigpending(sigset_t* set) noexcept {
  const auto call = real(&sigpending_cached, "sigpending");
  const int result = call(set);
  if (result != 0 || !agent_present() || sigismember(set, kSampleSignal) != 1) return result;
  if (sample_signal_held()) return call(set);
  sigdelset(set, kSampleSignal);
  return 0;
}
