// One POSIX timer on a thread's CPU clock that signals that thread.
#pragma once

#include <signal.h>

#include <cstdint>

#include "threads/thread.h"

namespace sonde {

bool open_timer(Thread* thread, uint64_t period_ns);  // from any thread
void close_timer(Thread* thread);
void set_timer_period(Thread* thread, uint64_t period_ns);  // async-signal-safe

// Async-signal-safe, and touches no thread-local variable.
bool is_our_timer(const siginfo_t* info);
int timer_slot(const siginfo_t* info);  // in the registry, of the adopted thread whose timer it is; -1: of none

}  // namespace sonde
