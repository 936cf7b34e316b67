#include "engine/tick_rate.h"

#include <atomic>

#include "core/agent.h"

namespace sonde {
namespace {
constexpr uint64_t kLookEveryNs = 500'000'000;  // shorter than phases that matter, longer than a rare tick
constexpr uint64_t kFewTicks = 10;               // tell little about their cost: the last finding stands
constinit std::atomic<uint32_t> current{0}, lowest{0};  // 0: as was asked for

static_assert(shared_rate_hz(100, 4, 3.9) == 100 && shared_rate_hz(100, 4, 8.0) == 50);
static_assert(shared_rate_hz(100, 4, 64.0) == 6 && shared_rate_hz(1, 4, 64.0) == 1);  // never none
static_assert(shared_rate_hz(100, 0, 64.0) == 100);

static_assert(affordable_rate_hz(100, 3000, 30'000) == 100 && affordable_rate_hz(100, 3000, 60'000) == 50);
static_assert(affordable_rate_hz(100, 3000, 1'000'000) == 25 && affordable_rate_hz(1, 3000, 1'000'000'000) == 1);
static_assert(affordable_rate_hz(1000, 0, 1'000'000) == 1000);
}  // namespace

uint32_t current_rate_hz() {
  const uint32_t rate_hz = current.load(std::memory_order_relaxed);
  return rate_hz ? rate_hz : agent_options().rate_hz;
}

uint32_t lowest_rate_hz() {
  const uint32_t rate_hz = lowest.load(std::memory_order_relaxed);
  return rate_hz ? rate_hz : agent_options().rate_hz;
}

void TickRate::look(uint64_t now_ns, const TickTotals& totals) {
  if (last_ns_ && now_ns - last_ns_ < kLookEveryNs) return;
  if (last_ns_ && totals.cpu_ns >= last_.cpu_ns) {
    const Options& options = agent_options();
    const double busy = static_cast<double>(totals.cpu_ns - last_.cpu_ns) / static_cast<double>(now_ns - last_ns_);
    const uint64_t ticks = totals.ticks - last_.ticks;
    if (ticks >= kFewTicks) per_tick_ns_ = (totals.handler_ns - last_.handler_ns) / ticks;
    const uint32_t rate_hz = affordable_rate_hz(shared_rate_hz(options.rate_hz, options.full_rate_threads, busy),
                                                options.handler_ppm, per_tick_ns_);
    current.store(rate_hz, std::memory_order_relaxed);
    if (rate_hz < lowest_rate_hz()) lowest.store(rate_hz, std::memory_order_relaxed);
  }
  last_ns_ = now_ns;
  last_ = totals;
}

void TickRate::reset() {
  last_ns_ = per_tick_ns_ = 0;
  last_ = {};
  current.store(0, std::memory_order_relaxed);
  lowest.store(0, std::memory_order_relaxed);
}

}  // namespace sonde
