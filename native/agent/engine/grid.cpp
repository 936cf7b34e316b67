#include "engine/grid.h"

#include "engine/scheduler_tick.h"

namespace sonde {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

struct Grid {
  uint64_t period_ns;
  uint64_t spread_ns;          // ticks fall into so much of each period: what is left keeps neighbours apart
  uint64_t step_ns, phase_ns;  // of the kernel's ticks that it lies on; step 1: on none, any place will do
};

constexpr Grid free_grid(uint64_t period_ns) { return {period_ns, period_ns / 2, 1, 0}; }

// Wider, for with two ticks of the kernel's to a period half of it would leave no choice.
constexpr Grid kernel_grid(uint64_t period_ns, uint64_t step_ns, uint64_t phase_ns) {
  return {period_ns, period_ns / 4 * 3, step_ns, phase_ns};
}

// splitmix64: neighbouring numbers give unrelated ones.
constexpr uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr uint64_t tick_of(uint64_t number, const Grid& grid) {
  const uint64_t place_ns = number * grid.period_ns + mixed(number) % (grid.spread_ns + 1);
  return place_ns / grid.step_ns * grid.step_ns + grid.phase_ns;
}

constexpr uint64_t until(uint64_t now_ns, const Grid& grid) {
  const uint64_t least_ns = grid.period_ns / 4 > kShortestWaitNs ? grid.period_ns / 4 : kShortestWaitNs;
  const uint64_t from_ns = now_ns + least_ns;
  uint64_t number = from_ns / grid.period_ns;
  if (number) number--;  // a tick of the kernel's may lie behind the end of its period
  while (tick_of(number, grid) < from_ns) number++;
  return tick_of(number, grid) - now_ns;
}

// Over many periods there are as many ticks as were asked for, none too near, and whoever looks at different moments
// before a tick is told the same tick.
constexpr bool keeps_its_word(const Grid& grid) {
  const uint64_t start_ns = 123'456'789'012'345;
  const uint64_t least_ns = grid.period_ns / 4 > kShortestWaitNs ? grid.period_ns / 4 : kShortestWaitNs;
  uint64_t now_ns = start_ns, ticks = 0;
  while (now_ns < start_ns + 500 * grid.period_ns) {
    const uint64_t wait_ns = until(now_ns, grid);
    if (wait_ns < least_ns || wait_ns > 3 * grid.period_ns) return false;
    if ((now_ns + wait_ns - grid.phase_ns) % grid.step_ns != 0) return false;
    const uint64_t later_ns = wait_ns / 10;
    if (wait_ns - later_ns > least_ns && until(now_ns + later_ns, grid) != wait_ns - later_ns) return false;
    now_ns += wait_ns;
    ticks++;
  }
  return ticks > 460 && ticks < 540;
}
static_assert(keeps_its_word(free_grid(10'000'000)) && keeps_its_word(free_grid(1'000'000)));
static_assert(keeps_its_word(free_grid(250'000)));
static_assert(keeps_its_word(kernel_grid(10'000'000, 4'000'000, 3'999'000)));
static_assert(keeps_its_word(kernel_grid(10'000'000, 1'000'000, 17)));
static_assert(keeps_its_word(kernel_grid(20'000'000, 10'000'000, 0)));

}  // namespace

bool on_scheduler_ticks(uint32_t rate_hz) {
  const uint64_t tick_ns = scheduler_tick_ns();
  return tick_ns != 0 && kSecondNs / rate_hz >= 2 * tick_ns;
}

uint64_t until_tick(uint64_t now_ns, uint32_t rate_hz) {
  const uint64_t period_ns = kSecondNs / rate_hz;
  if (!on_scheduler_ticks(rate_hz)) return until(now_ns, free_grid(period_ns));
  return until(now_ns, kernel_grid(period_ns, scheduler_tick_ns(), scheduler_tick_phase_ns()));
}

}  // namespace sonde
