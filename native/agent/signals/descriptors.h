// signalfd as the program calls it. One whose set has SIGPROF would read ticks: its set is without it until the program
// takes a SIGPROF of its own (mask.h). Async-signal-safe.
#pragma once

#include <signal.h>

namespace sonde {

int program_signalfd(int fd, const sigset_t* set, int flags);

// The program takes SIGPROF: from now on its descriptors do, too.
void open_descriptors();

}  // namespace sonde
