#include "engine/scheduler_tick.h"

#include <time.h>

#include <atomic>

namespace sonde {
namespace {
constexpr uint64_t kShortestNs = 500'000, kLongestNs = 20'000'000;  // 1000 Hz and 100 Hz are the usual bounds
constexpr uint64_t kSignalNs = 25'000;                              // from the tick to the handler at best
constexpr uint64_t kUnseen = ~uint64_t{0};
constinit std::atomic<uint64_t> length{0}, earliest{kUnseen};
}  // namespace

void find_scheduler_tick() {
  timespec resolution = {};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) != 0 || resolution.tv_sec != 0) return;
  const auto length_ns = static_cast<uint64_t>(resolution.tv_nsec);
  if (length_ns >= kShortestNs && length_ns <= kLongestNs) length.store(length_ns, std::memory_order_relaxed);
}

uint64_t scheduler_tick_ns() { return length.load(std::memory_order_relaxed); }

uint64_t scheduler_tick_phase_ns() {
  const uint64_t seen = earliest.load(std::memory_order_relaxed);
  return seen == kUnseen || seen < kSignalNs ? 0 : seen - kSignalNs;
}

void saw_scheduler_tick(uint64_t time_ns) {
  const uint64_t length_ns = scheduler_tick_ns();
  uint64_t phase = length_ns ? time_ns % length_ns : 0;
  const uint64_t known = earliest.load(std::memory_order_relaxed);
  if (length_ns == 0 || known == 0) return;
  // Right behind a multiple: a kernel whose ticks lie on them. Settled, for a thread that was kept from its
  // handler for more than half a tick would look early.
  if (phase < 4 * kSignalNs) phase = 0;
  const uint64_t earlier_ns = known == kUnseen ? 0 : (known + length_ns - phase) % length_ns;
  // Phases go round: less than half a round before the earliest is earlier, the rest is later.
  if (phase != 0 && known != kUnseen && (earlier_ns == 0 || earlier_ns >= length_ns / 2)) return;
  earliest.store(phase, std::memory_order_relaxed);  // two threads at once: either will do
}

}  // namespace sonde
