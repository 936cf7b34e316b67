// _exit as the program calls it: no destructor runs then (forked Python workers end like this),
// so the log is finished here. exit() and the return from main come through the library's destructors.
#include <stdlib.h>
#include <unistd.h>

#include "core/agent.h"
#include "process/ended.h"
#include "signals/real.h"

namespace {
using Exit = void (*)(int);
Exit exit_cached, quick_exit_cached;

__attribute__((destructor)) void finish() {
  sonde::agent_stop(sonde::log::EndReason::Exit);
  sonde::note_end("exit");
}
}  // namespace

SONDE_EXPORT __attribute__((noreturn)) void _exit(int code) {
  finish();
  sonde::real(&exit_cached, "_exit")(code);
  __builtin_unreachable();
}

SONDE_EXPORT __attribute__((noreturn)) void _Exit(int code) noexcept { _exit(code); }

SONDE_EXPORT __attribute__((noreturn)) void quick_exit(int code) noexcept {
  finish();
  sonde::real(&quick_exit_cached, "quick_exit")(code);
  __builtin_unreachable();
}
