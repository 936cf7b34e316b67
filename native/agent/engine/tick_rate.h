// How often each thread ticks now: as was asked for, unless that costs too much.
//
// Few busy threads tick at the full rate; many share what a few would make.
// In a team that meets at barriers everyone waits for the one that a tick interrupts, so the team pays for all
// ticks of all its threads one after the other: with 64 threads at 100 Hz and 30 us each, a fifth of the time. And
// a profile needs no more samples because a machine has more cores.
//
// And a tick costs what its stack is deep: 500 frames, as while Python imports modules that import modules, take ten
// times as long as a loop of operators, and wash as much of the program out of the caches. Where the rate is
// Sonde's own choice, handlers keep to a share of the CPU time.
//
// Weights are CPU time, so rarer ticks weigh more.
#pragma once

#include <cstdint>

namespace sonde {

// `busy` threads, of which `full` may tick at `rate_hz`.
constexpr uint32_t shared_rate_hz(uint32_t rate_hz, uint32_t full, double busy) {
  if (full == 0 || busy <= full) return rate_hz;
  const auto shared = static_cast<uint32_t>(rate_hz * static_cast<double>(full) / busy + 0.5);
  return shared > 0 ? shared : 1;
}

// A handler of `per_tick_ns` may take `share_ppm` of CPU time (0: any). Never less than a quarter of the rate: a profile
// must stay one.
constexpr uint32_t affordable_rate_hz(uint32_t rate_hz, uint32_t share_ppm, uint64_t per_tick_ns) {
  if (share_ppm == 0 || per_tick_ns * rate_hz <= share_ppm * uint64_t{1000}) return rate_hz;
  const auto affordable = static_cast<uint32_t>(share_ppm * uint64_t{1000} / per_tick_ns);
  const uint32_t least = rate_hz / 4 > 0 ? rate_hz / 4 : 1;
  return affordable > least ? affordable : least;
}

uint32_t current_rate_hz();  // async-signal-safe
uint32_t lowest_rate_hz();   // that was in force so far

// Of all threads so far.
struct TickTotals {
  uint64_t cpu_ns = 0, handler_ns = 0, ticks = 0;
};

// Background thread only, told now and then.
class TickRate {
 public:
  constexpr TickRate() = default;
  void look(uint64_t now_ns, const TickTotals& totals);
  void reset();  // in the child of a fork

 private:
  uint64_t last_ns_ = 0, per_tick_ns_ = 0;
  TickTotals last_;
};

}  // namespace sonde
