// One perf cpu-clock event that signals one thread.
#pragma once

#include <cstdint>

#include "threads/thread.h"

namespace sonde {

// On the thread itself. False with errno when the kernel refuses or descriptors are scarce.
bool open_perf(Thread* thread, uint32_t rate_hz, bool with_kernel);
void close_perf(Thread* thread);
void forget_perf(Thread* thread);  // in the child of a fork: the event itself is the parent's
void set_perf_period(Thread* thread, uint64_t period_ns);  // async-signal-safe
void pause_perf(Thread* thread, bool paused);               // from any thread
bool descriptors_are_scarce();

}  // namespace sonde
