// The signal mask as the program sees it. A thread that blocks "all signals" (worker pools do)
// would never be sampled; so SIGPROF stays deliverable as long as the program does not
// use SIGPROF itself, and the program is told that it is blocked. All async-signal-safe.
#pragma once

#include <signal.h>

namespace sonde {

int program_sigmask(int how, const sigset_t* set, sigset_t* previous);

// At the start of a thread or program: takes over a mask that was inherited with SIGPROF blocked.
void adopt_inherited_mask();

// A new thread inherits its creator's mask, and with it what the program believes about SIGPROF.
bool sample_signal_believed_blocked();
void inherit_belief(bool blocked);

}  // namespace sonde
