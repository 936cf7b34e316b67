// When ticks fall: on times that all threads of all processes share, so that a team is interrupted once.
//
// In a team that meets at barriers everyone waits for the one that a tick interrupts. Ticks that fall apart are paid
// for one after the other, and most waiters spin: at two threads each tick costs twice. Ticks that fall together
// cost the team one delay, and show all its threads at the same moment. The times come from the clock
// alone, so nobody has to tell anybody: stretches of sixteen periods, in each of which ticks are evenly spaced, by a
// space and from a start that are drawn from the stretch's number. That is also the jitter: samples must
// not walk in step with the program.
//
// A clock of CPU time stands while its thread does not run, and is late afterwards: each tick looks whether the next
// one would miss the grid, and sets its clock anew.
#pragma once

#include <cstdint>

namespace sonde {

// No clock is ever set to less. In a virtual machine a tick takes the kernel 60 us, in which no program runs; an interval
// near that leaves nobody the time to set another one, and the CPU hangs: no priority helps against interrupts.
inline constexpr uint64_t kShortestWaitNs = 150'000;

// Time from `now_ns` (CLOCK_MONOTONIC) to the next tick of the grid that is at least half a period away. Never more
// than four periods. Async-signal-safe.
uint64_t until_tick(uint64_t now_ns, uint32_t rate_hz);

}  // namespace sonde
