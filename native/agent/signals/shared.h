// Three signals that Sonde and the program both may use: SIGPROF (samples), SIGSEGV and SIGBUS
// (guarded reads). The kernel always holds Sonde's handler for them; what the program
// asked for is kept here, reported back to it as if it were installed, and called for
// every signal that is not Sonde's own. Handlers of other signals that ask for the alternate stack (SA_ONSTACK) are
// forwarded in the same way, since the kernel's alternate stack is Sonde's. Masks, flags and stacks: policy.h.
//
// Why SIGPROF and not a real-time signal: perf signals that cannot be queued (RLIMIT_SIGPENDING is
// per user) fall back to SIGIO when the signal is a real-time one, and SIGIO kills; and real-time
// signals queue up while a thread blocks them. SIGPROF coalesces, never falls back, and its
// siginfo tells ours (a descriptor's or our timer's) from the program's (setitimer, kill).
#pragma once

#include <signal.h>

namespace sonde {

constexpr int kSampleSignal = SIGPROF;

bool is_shared_signal(int signal);

// Not async-signal-safe. Installs Sonde's handlers; what was there becomes the program's.
bool install_shared_signals();

// Not async-signal-safe. Gives the program's handlers back to the kernel. `ticks_may_come`: one still waits somewhere, so
// that SIGPROF keeps Sonde's, which lets it pass.
void remove_shared_signals(bool ticks_may_come);

// Async-signal-safe. What sigaction(2) means for a shared signal.
int program_sigaction(int signal, const struct sigaction* next, struct sigaction* previous);

// Async-signal-safe. The same for any other signal.
int forward_sigaction(int signal, const struct sigaction* next, struct sigaction* previous);
// What libc says is installed for it, as the program knows it.
sighandler_t forwarded_handler(int signal, sighandler_t handler);

// Async-signal-safe. Has the program a handler for SIGPROF?
bool program_handles_sample_signal();

// Async-signal-safe. Does what the program asked for with a signal that is not Sonde's.
void pass_on(int signal, siginfo_t* info, void* context);

// Not async-signal-safe. Are our handlers still installed? One that was replaced behind our back (by a
// bare system call) is taken back, with the newcomer as the program's; after a few times sampling stops.
void check_shared_signals();

}  // namespace sonde
