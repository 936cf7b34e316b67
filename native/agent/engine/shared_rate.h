// How often each thread ticks now. Few busy threads tick as often as was asked for; many share what a few would make.
//
// In a team that meets at barriers everyone waits for the one that a tick interrupts, so the team pays for all
// ticks of all its threads one after the other: with 64 threads at 100 Hz and 30 us each, a fifth of the time. And
// a profile needs no more samples because a machine has more cores. Weights are CPU time, so rarer ticks weigh more.
#pragma once

#include <cstdint>

namespace sonde {

// `busy` threads, of which `full` may tick at `rate_hz`.
constexpr uint32_t shared_rate_hz(uint32_t rate_hz, uint32_t full, double busy) {
  if (full == 0 || busy <= full) return rate_hz;
  const auto shared = static_cast<uint32_t>(rate_hz * static_cast<double>(full) / busy + 0.5);
  return shared > 0 ? shared : 1;
}

uint32_t current_rate_hz();  // async-signal-safe
uint32_t lowest_rate_hz();   // that was in force so far

// Background thread only. Told now and then: the CPU time of all threads so far.
class SharedRate {
 public:
  constexpr SharedRate() = default;
  void look(uint64_t now_ns, uint64_t cpu_ns);
  void reset();  // in the child of a fork

 private:
  uint64_t last_ns_ = 0, last_cpu_ns_ = 0;
};

}  // namespace sonde
