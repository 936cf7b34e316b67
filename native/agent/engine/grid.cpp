#include "engine/grid.h"

namespace sonde {
namespace {

constexpr uint64_t kPeriods = 16;  // in a stretch: setting a clock costs a system call, a stretch costs two

// splitmix64: neighbouring numbers give unrelated ones.
constexpr uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The first tick at or after `from_ns` within its stretch; the stretch's end if there is none.
constexpr uint64_t tick_in_stretch(uint64_t from_ns, uint64_t period_ns) {
  const uint64_t length_ns = kPeriods * period_ns;
  const uint64_t number = from_ns / length_ns;
  const uint64_t drawn = mixed(number);
  const uint64_t space_ns = period_ns - period_ns / 5 + (drawn & 0xffffffff) % (period_ns * 2 / 5 + 1);  // +-20 %
  const uint64_t first_ns = number * length_ns + (drawn >> 32) % space_ns;
  const uint64_t end_ns = (number + 1) * length_ns;
  const uint64_t steps = from_ns <= first_ns ? 0 : (from_ns - first_ns + space_ns - 1) / space_ns;
  const uint64_t tick_ns = first_ns + steps * space_ns;
  return tick_ns < end_ns ? tick_ns : end_ns;
}

constexpr uint64_t tick_after(uint64_t from_ns, uint64_t period_ns) {
  const uint64_t end_ns = (from_ns / (kPeriods * period_ns) + 1) * kPeriods * period_ns;
  const uint64_t tick_ns = tick_in_stretch(from_ns, period_ns);
  return tick_ns < end_ns ? tick_ns : tick_in_stretch(end_ns, period_ns);
}

constexpr uint64_t until(uint64_t now_ns, uint64_t period_ns) {
  const uint64_t least_ns = period_ns / 2 > kShortestWaitNs ? period_ns / 2 : kShortestWaitNs;
  return tick_after(now_ns + least_ns, period_ns) - now_ns;
}

// Over many stretches there are as many ticks as were asked for, none nearer than half a period, and whoever looks at
// different moments before a tick is told the same tick.
constexpr bool keeps_its_word(uint64_t period_ns) {
  const uint64_t start_ns = 123'456'789'012'345;
  uint64_t now_ns = start_ns, ticks = 0;
  while (now_ns < start_ns + 500 * period_ns) {
    const uint64_t wait_ns = until(now_ns, period_ns);
    if (wait_ns < period_ns / 2 || wait_ns < kShortestWaitNs || wait_ns > 4 * period_ns) return false;
    const uint64_t later_ns = wait_ns / 10;
    if (wait_ns - later_ns > period_ns * 3 / 4 && until(now_ns + later_ns, period_ns) != wait_ns - later_ns) return false;
    now_ns += wait_ns;
    ticks++;
  }
  return ticks > 460 && ticks < 540;
}
static_assert(keeps_its_word(10'000'000) && keeps_its_word(1'000'000) && keeps_its_word(250'000));

}  // namespace

uint64_t until_tick(uint64_t now_ns, uint32_t rate_hz) { return until(now_ns, 1'000'000'000u / rate_hz); }

}  // namespace sonde
