// _exit as the program calls it: no destructor runs then (forked Python workers end like this),
// so the log is finished here. exit() and the return from main come through the library's destructor.
#include <stdlib.h>
#include <unistd.h>

#include "core/agent.h"
#include "signals/real.h"

namespace {
using Exit = void (*)(int);
Exit exit_cached, quick_exit_cached;
}  // namespace

SONDE_EXPORT __attribute__((noreturn)) void _exit(int code) {
  sonde::agent_stop(sonde::log::EndReason::Exit);
  sonde::real(&exit_cached, "_exit")(code);
  __builtin_unreachable();
}

SONDE_EXPORT __attribute__((noreturn)) void _Exit(int code) noexcept { _exit(code); }

SONDE_EXPORT __attribute__((noreturn)) void quick_exit(int code) noexcept {
  sonde::agent_stop(sonde::log::EndReason::Exit);
  sonde::real(&quick_exit_cached, "quick_exit")(code);
  __builtin_unreachable();
}
