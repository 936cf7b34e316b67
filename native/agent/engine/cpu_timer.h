// One POSIX timer on a thread's CPU clock that signals that thread.
#pragma once

#include <cstdint>

#include "threads/thread.h"

namespace sonde {

bool open_timer(Thread* thread, uint64_t period_ns);  // on the thread itself
void close_timer(Thread* thread);
void set_timer_period(Thread* thread, uint64_t period_ns);  // async-signal-safe
void* timer_cookie();                                       // in siginfo of our timers

}  // namespace sonde
