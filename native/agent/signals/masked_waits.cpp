// Waits with a signal mask of their own, as the program calls them: a tick must not end them (they are never restarted),
// so it waits as well. A program with a SIGPROF handler, or with one pending, waits for that signal, too: there the clock
// stands still instead.
// Cancellation points like the originals.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "core/agent.h"
#include "signals/mask.h"
#include "signals/real.h"
#include "signals/shared.h"

namespace sonde {
namespace {

using Ppoll = int (*)(pollfd*, nfds_t, const timespec*, const sigset_t*);
using PpollChecked = int (*)(pollfd*, nfds_t, const timespec*, const sigset_t*, size_t);
using Pselect = int (*)(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*);
using EpollPwait = int (*)(int, epoll_event*, int, int, const sigset_t*);
using EpollPwait2 = int (*)(int, epoll_event*, int, const timespec*, const sigset_t*);
using Sigsuspend = int (*)(const sigset_t*);
Ppoll ppoll_cached;
PpollChecked ppoll_checked_cached;
Pselect pselect_cached;
EpollPwait epoll_pwait_cached;
EpollPwait2 epoll_pwait2_cached;
Sigsuspend sigsuspend_cached;

// `call(mask)` is the wait.
template <typename Call>
int without_ticks(const sigset_t* mask, Call call) {
  if (!mask || !agent_present() || sigismember(mask, kSampleSignal) == 1) return call(mask);
  if (sample_signal_held() || program_handles_sample_signal()) {
    const bool believed = sample_signal_believed_blocked();
    const bool rests = rest_clock();
    inherit_belief(false);  // what is pending arrives within the wait
    const int result = call(mask);
    inherit_belief(believed);
    if (rests) start_clock();
    return result;
  }
  sigset_t more = *mask;
  sigaddset(&more, kSampleSignal);
  return call(&more);
}

}  // namespace

void resolve_masked_waits() {
  real(&ppoll_cached, "ppoll");
  real(&pselect_cached, "pselect");
  real(&epoll_pwait_cached, "epoll_pwait");
  real(&sigsuspend_cached, "sigsuspend");
}

}  // namespace sonde

using namespace sonde;

SONDE_EXPORT int ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  const auto wait = real(&ppoll_cached, "ppoll");
  return without_ticks(mask, [&](const sigset_t* set) { return wait(fds, count, timeout, set); });
}

SONDE_EXPORT int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask, size_t size) {
  const auto wait = real(&ppoll_checked_cached, "__ppoll_chk");
  return without_ticks(mask, [&](const sigset_t* set) { return wait(fds, count, timeout, set, size); });
}

SONDE_EXPORT int pselect(int count, fd_set* reads, fd_set* writes, fd_set* others, const timespec* timeout,
                         const sigset_t* mask) {
  const auto wait = real(&pselect_cached, "pselect");
  return without_ticks(mask,
                       [&](const sigset_t* set) { return wait(count, reads, writes, others, timeout, set); });
}

SONDE_EXPORT int epoll_pwait(int fd, epoll_event* events, int most, int timeout, const sigset_t* mask) {
  const auto wait = real(&epoll_pwait_cached, "epoll_pwait");
  return without_ticks(mask, [&](const sigset_t* set) { return wait(fd, events, most, timeout, set); });
}

SONDE_EXPORT int epoll_pwait2(int fd, epoll_event* events, int most, const timespec* timeout, const sigset_t* mask) {
  const auto wait = real(&epoll_pwait2_cached, "epoll_pwait2");
  if (!wait) {  // glibc before 2.35
    errno = ENOSYS;
    return -1;
  }
  return without_ticks(mask, [&](const sigset_t* set) { return wait(fd, events, most, timeout, set); });
}

SONDE_EXPORT int sigsuspend(const sigset_t* mask) {
  const auto wait = real(&sigsuspend_cached, "sigsuspend");
  return without_ticks(mask, [&](const sigset_t* set) { return wait(set); });
}
