// The signal mask as the program sees it. A thread that blocks "all signals" (worker pools do) would never be sampled;
// so SIGPROF stays deliverable, and the program is told that it is blocked.
//
// That holds until somebody sends a SIGPROF that is not a tick to a thread that believes it blocked. The program then
// means this very signal: the thread really blocks it, its clock stops (loss threads_signal_taken), and the signal
// is sent again with what came with it. From then on the kernel does the rest: sigwait, signalfd, sigpending, delivery when
// it is unblocked. One that was sent to the process goes round until it has met a thread that takes it, or
// all of them block it. All async-signal-safe.
#pragma once

#include <signal.h>

namespace sonde {

int program_sigmask(int how, const sigset_t* set, sigset_t* previous);

// At the start of a thread or program: takes over a mask that was inherited with SIGPROF blocked.
void adopt_inherited_mask();

// A new thread inherits its creator's mask, and with it what the program believes about SIGPROF. A wait may have a mask
// of its own.
bool sample_signal_believed_blocked();
void inherit_belief(bool blocked);

// In the handler, with a SIGPROF that is not a tick. True: the program believes it blocked, and it is pending again.
bool keep_pending(const siginfo_t* info, void* context);
// In the handler, after a tick: once the program takes SIGPROF itself, blocked means blocked.
void settle_mask(void* context);

// Has the program shown that it takes a blocked SIGPROF?
bool sample_signal_taken();
// Is it really blocked in this thread, whose clock then must not run?
bool sample_signal_held();

// For the length of a wait that ticks must not end. False: there is nothing to start again.
bool rest_clock();
// Goes on where it would be had it not stood still.
void start_clock();

// Sends a SIGPROF that is not a tick once more, to whom it was sent.
void send_again(const siginfo_t& info);

}  // namespace sonde
