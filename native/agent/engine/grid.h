// When ticks fall: on times that all threads of all processes share, so that a team is interrupted once.
//
// In a team that meets at barriers everyone waits for the one that a tick interrupts. Ticks that fall apart are paid
// for one after the other, and most waiters spin: at two threads each tick costs twice. Ticks that fall together
// cost the team one delay, and show all its threads at the same moment. The times come from the clock
// alone, so nobody has to tell anybody: one in each period, at a place drawn from the period's number. That
// is also the jitter: samples must not walk in step with the program. Where periods are long enough the place is one of
// the kernel's own ticks, whose interrupt they then share (engine/scheduler_tick.h).
//
// A clock of CPU time stands while its thread does not run, and is late afterwards: each tick sets its clock anew.
#pragma once

#include <cstdint>

namespace sonde {

// No clock is ever set to less. In a virtual machine a tick takes the kernel 60 us, in which no program runs; an interval
// near that leaves nobody the time to set another one, and the CPU hangs: no priority helps against interrupts.
inline constexpr uint64_t kShortestWaitNs = 150'000;

// Async-signal-safe. Time from `now_ns` (CLOCK_MONOTONIC) to the next tick of the grid that is at least a quarter of a
// period away. Never more than three periods.
uint64_t until_tick(uint64_t now_ns, uint32_t rate_hz);

// Async-signal-safe. Does the grid of this rate lie on the kernel's ticks?
bool on_scheduler_ticks(uint32_t rate_hz);

}  // namespace sonde
