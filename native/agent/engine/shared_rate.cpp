#include "engine/shared_rate.h"

#include <atomic>

#include "core/agent.h"

namespace sonde {
namespace {
constexpr uint64_t kLookEveryNs = 1'000'000'000;  // shorter than phases that matter, longer than a rare tick
constinit std::atomic<uint32_t> current{0}, lowest{0};  // 0: as was asked for

static_assert(shared_rate_hz(100, 4, 3.9) == 100 && shared_rate_hz(100, 4, 8.0) == 50);
static_assert(shared_rate_hz(100, 4, 64.0) == 6 && shared_rate_hz(1, 4, 64.0) == 1);  // never none
static_assert(shared_rate_hz(100, 0, 64.0) == 100);
}  // namespace

uint32_t current_rate_hz() {
  const uint32_t rate_hz = current.load(std::memory_order_relaxed);
  return rate_hz ? rate_hz : agent_options().rate_hz;
}

uint32_t lowest_rate_hz() {
  const uint32_t rate_hz = lowest.load(std::memory_order_relaxed);
  return rate_hz ? rate_hz : agent_options().rate_hz;
}

void SharedRate::look(uint64_t now_ns, uint64_t cpu_ns) {
  if (last_ns_ && now_ns - last_ns_ < kLookEveryNs) return;
  if (last_ns_ && cpu_ns >= last_cpu_ns_) {
    const double busy = static_cast<double>(cpu_ns - last_cpu_ns_) / static_cast<double>(now_ns - last_ns_);
    const uint32_t rate_hz = shared_rate_hz(agent_options().rate_hz, agent_options().full_rate_threads, busy);
    current.store(rate_hz, std::memory_order_relaxed);
    if (rate_hz < lowest_rate_hz()) lowest.store(rate_hz, std::memory_order_relaxed);
  }
  last_ns_ = now_ns;
  last_cpu_ns_ = cpu_ns;
}

void SharedRate::reset() {
  last_ns_ = last_cpu_ns_ = 0;
  current.store(0, std::memory_order_relaxed);
  lowest.store(0, std::memory_order_relaxed);
}

}  // namespace sonde
