// The kernel's own tick: the interrupt that comes a few hundred times a second whatever anybody does.
//
// An interrupt is dear, in a virtual machine dearer than all that the handler does. What happens at the moment of the
// kernel's tick shares its interrupt: a CPU-clock timer always does, a perf event does if it is set to that moment.
#pragma once

#include <cstdint>

namespace sonde {

// Not async-signal-safe, before the first sample.
void find_scheduler_tick();

// Async-signal-safe. Nanoseconds from tick to tick; 0 when unknown.
uint64_t scheduler_tick_ns();

// Async-signal-safe. How far ticks lie behind multiples of their length on CLOCK_MONOTONIC: nothing in kernels since
// 2023, anything before.
uint64_t scheduler_tick_phase_ns();

// Async-signal-safe. At `time_ns` a handler began whose timer went off at a tick, a little earlier: the earliest
// of all such tells the phase.
void saw_scheduler_tick(uint64_t time_ns);

}  // namespace sonde
