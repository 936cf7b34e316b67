// Names of generated code: perf maps, jitdumps, unnamed executable regions.
#pragma once

#include "log/writer.h"

namespace sonde {

// Not async-signal-safe, before there are threads: the environment belongs to the program, which may put another one in
// its place at any moment. The background thread never looks at it.
void jit_remember_folder();

// Not async-signal-safe. Called by the background thread a few times per second and once at the end:
// appends JitCode records for code that is new since the last call. True: look again soon.
bool jit_poll(log::Writer& log);

// Not async-signal-safe. With a new session of the log: the next jit_poll writes everything again.
void jit_forget_written();

// Not async-signal-safe. In the child of a fork: what the parent generated before is the child's too.
void jit_after_fork();

}  // namespace sonde
