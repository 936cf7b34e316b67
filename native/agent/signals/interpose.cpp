// sigaction, signal, sigaltstack and the signal mask as the program calls them. Everything but the shared signals and
// handlers on an alternate stack goes straight through. Async-signal-safe like the originals, once resolved.
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "core/agent.h"
#include "signals/alternate_stack.h"
#include "signals/mask.h"
#include "signals/real.h"
#include "signals/shared.h"

namespace sonde {
namespace {
using Sigaction = int (*)(int, const struct sigaction*, struct sigaction*);
using Signal = sighandler_t (*)(int, sighandler_t);
using Sigmask = int (*)(int, const sigset_t*, sigset_t*);
Sigaction sigaction_cached;
Signal signal_cached, sysv_signal_cached, sigset_cached;
Sigmask pthread_sigmask_cached;

sighandler_t set_handler(int number, sighandler_t handler, int flags) {
  struct sigaction next = {}, previous = {};
  next.sa_handler = handler;
  next.sa_flags = flags;
  if (program_sigaction(number, &next, &previous) != 0) return SIG_ERR;
  return previous.sa_handler;
}
}  // namespace

int real_sigaction(int signal, const struct sigaction* next, struct sigaction* previous) {
  return real(&sigaction_cached, "sigaction")(signal, next, previous);
}

int real_sigmask(int how, const sigset_t* set, sigset_t* previous) {
  return real(&pthread_sigmask_cached, "pthread_sigmask")(how, set, previous);
}

}  // namespace sonde

SONDE_EXPORT int sigaction(int number, const struct sigaction* next, struct sigaction* previous) noexcept {
  if (!sonde::agent_present()) return sonde::real_sigaction(number, next, previous);
  if (!sonde::is_shared_signal(number)) return sonde::forward_sigaction(number, next, previous);
  return sonde::program_sigaction(number, next, previous);
}

SONDE_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  if (!sonde::is_shared_signal(number)) {
    return sonde::forwarded_handler(number, sonde::real(&sonde::signal_cached, "signal")(number, handler));
  }
  return sonde::set_handler(number, handler, SA_RESTART);
}

SONDE_EXPORT sighandler_t bsd_signal(int number, sighandler_t handler) noexcept { return signal(number, handler); }

SONDE_EXPORT sighandler_t sysv_signal(int number, sighandler_t handler) noexcept {
  if (!sonde::is_shared_signal(number)) {
    return sonde::forwarded_handler(number, sonde::real(&sonde::sysv_signal_cached, "sysv_signal")(number, handler));
  }
  return sonde::set_handler(number, handler, SA_RESETHAND | SA_NODEFER);
}

SONDE_EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler) noexcept {
  return sysv_signal(number, handler);
}

SONDE_EXPORT sighandler_t sigset(int number, sighandler_t handler) noexcept {
  if (sonde::is_shared_signal(number) && handler != SIG_HOLD) return sonde::set_handler(number, handler, 0);
  return sonde::forwarded_handler(number, sonde::real(&sonde::sigset_cached, "sigset")(number, handler));
}

SONDE_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* previous) noexcept {
  return sonde::program_sigmask(how, set, previous);
}

SONDE_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* previous) noexcept {
  int error = sonde::program_sigmask(how, set, previous);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

SONDE_EXPORT int sigaltstack(const stack_t* next, stack_t* previous) noexcept {
  return sonde::program_sigaltstack(next, previous);
}
