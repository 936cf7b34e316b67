// Names of generated code: perf maps, jitdumps, unnamed executable regions.
#pragma once

#include "log/writer.h"

namespace sonde {

// Not async-signal-safe. Called by the background thread a few times per second and once at the end:
// appends JitCode records for code that is new since the last call. True: look again soon.
bool jit_poll(log::Writer& log);

// Not async-signal-safe. In the child of a fork: the next jit_poll writes everything again.
void jit_after_fork();

}  // namespace sonde
