// The one place that says with which mask, with which flags and on which stack a signal handler runs: Sonde's
// own, and the program's that Sonde forwards to.
//
//   signal                     kernel gets      blocked meanwhile            stack
//   SIGPROF                    on_sample_signal all but the traps below      Sonde's alternate stack
//     the program's own        (called by it)   as the program asked         as the program asked
//   SIGSEGV, SIGBUS            on_fault         as the program asked         as the program asked
//     without its handler                       nothing                      alternate
//   others with SA_ONSTACK     on_forwarded     as the program asked         as the program asked
//   others                     the program's own handler, untouched
//
// What holds:
//   - No handler of the program runs above Sonde's sampling: one that leaves by siglongjmp would leave it half done.
//     Signals wait the tens of microseconds that it takes. The traps are let through, since a trap that is blocked
//     kills: SIGSEGV and SIGBUS (guarded reads), SIGSYS (seccomp), SIGTRAP, SIGILL, SIGFPE. A SIGSEGV or SIGBUS that
//     somebody sent is put off until the sample is done.
//   - Whatever the program blocks or asks to block, a guarded read may fault.
//   - On Sonde's alternate stack runs nothing but Sonde (see alternate_stack.h).
//   - System calls go on after a sample (SA_RESTART), unless a signal of the program ends them (interrupted_call.h).
// Everything here is async-signal-safe.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace sonde {

using Handler = void (*)(int, siginfo_t*, void*);

// The kernel's form of a mask: bit n-1 is signal n.
constexpr uint64_t mask_bit(int signal) { return uint64_t{1} << (signal - 1); }
constexpr uint64_t kFaultSignals = mask_bit(SIGSEGV) | mask_bit(SIGBUS);
constexpr uint64_t kTrapSignals =
    kFaultSignals | mask_bit(SIGSYS) | mask_bit(SIGTRAP) | mask_bit(SIGILL) | mask_bit(SIGFPE);

uint64_t mask_of(const sigset_t& set);
// In a handler, before a guarded read: it may fault, and a fault that is blocked kills. Threads that block "all signals"
// exist. When the handler returns the program's mask is back. False: behind a filter of system calls it may not.
bool let_faults_through(const ucontext_t* interrupted);
bool has_handler(const struct sigaction& action);

struct sigaction sampling_action(Handler handler);
struct sigaction fault_action(Handler handler, const struct sigaction& program);
struct sigaction forwarded_action(Handler handler, const struct sigaction& program);

// Must Sonde stand before this handler of the program, for a signal that it does not use itself? The kernel would
// run it on Sonde's alternate stack.
bool needs_forwarding(const struct sigaction& program);

// What is blocked while the program's handler runs that interrupted a thread with the mask `interrupted`.
uint64_t handler_mask(int signal, const struct sigaction& program, uint64_t interrupted);

}  // namespace sonde
