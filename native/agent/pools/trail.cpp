#include "pools/trail.h"

#include <cstring>

#include "pools/region.h"

namespace sonde {

void leave_trail(const Region& region, RegionTrail* trail) {
  trail->number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  trail->thread = region.owner.thread;
  trail->origin = region.origin_ticket ? region.origin : nullptr;  // one without a ticket dies with its task
  trail->origin_ticket = region.origin_ticket;
  trail->count = python_places(region.owner.python_state, trail->place, RegionTrail::kFrames, &trail->truncated);
  trail->number.store(region.number, std::memory_order_release);
}

bool read_trail(const RegionTrail& trail, uint64_t number, RegionTrail* out) {
  if (trail.number.load(std::memory_order_acquire) != number) return false;
  out->thread = trail.thread;
  out->count = trail.count < RegionTrail::kFrames ? trail.count : RegionTrail::kFrames;
  out->truncated = trail.truncated;
  out->origin = trail.origin;
  out->origin_ticket = trail.origin_ticket;
  std::memcpy(out->place, trail.place, out->count * sizeof trail.place[0]);
  std::atomic_thread_fence(std::memory_order_acquire);
  return trail.number.load(std::memory_order_relaxed) == number;
}

}  // namespace sonde
