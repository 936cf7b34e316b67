// Where a sampled thread stands with respect to parallel regions: working, waiting at the end, or spinning.
#include <atomic>

#include "common/guarded_memory.h"
#include "log/loss.h"
#include "pools/graph_task.h"
#include "pools/region.h"
#include "python/frames.h"
#include "unwind/frame_description.h"
#include "unwind/frame_row.h"
#include "unwind/modules.h"

namespace sonde {
namespace {

struct CodeRange {
  std::atomic<uint64_t> low{0}, high{0};
};
CodeRange g_work, g_microtask;

void find_range(const void* function, CodeRange* range) {
  const auto pc = reinterpret_cast<uint64_t>(function);
  uint64_t header, low, high;
  FrameDescription entry;
  if (!find_library(pc, &header, &low, &high) || header == 0) return;
  if (!read_frame_description(search_frame_header(header, pc), &entry)) return;
  range->low.store(entry.code_low, std::memory_order_relaxed);
  range->high.store(entry.code_high, std::memory_order_relaxed);
}

Anchor trampoline_anchor(const Region& region) {
  const CodeRange& range = region.microtask ? g_microtask : g_work;
  Anchor anchor;
  anchor.code_low = range.low.load(std::memory_order_relaxed);
  anchor.code_high = range.high.load(std::memory_order_relaxed);
  if (anchor.code_high) anchor.address = t_pool.anchor;
  return anchor;
}

// The innermost region that another thread opened: a region that this thread opened itself
// (serialised inside another) has this thread's own stack as its owner.
const Region* foreign_region(const Region* region, uint32_t self) {
  while (region && region->owner.thread == self) region = region->enclosing;
  return region;
}

// `copy`: of the owner, for a thread that waits at the region's end: the original may go away.
void use_owner(const PoolOwner& owner, PoolOwner* copy, PoolPosition* position) {
  if (owner.thread == kNoThread) return;  // opened by a thread that the agent does not know
  *copy = owner;
  if (owner.python_state) copy->anchor = python_anchor(owner.python_state, owner.stack);
  position->owner = copy;
}

// The owners of the regions that the owner itself was working in: none of them can leave before us.
void use_outer(const Region* region, PoolPosition* position) {
  unsigned levels = 0;
  position->origin = region->origin;
  position->origin_ticket = region->origin_ticket;
  while ((region = foreign_region(region->enclosing, region->owner.thread))) {
    if (region->owner.thread == kNoThread) return;
    if (levels == PoolPosition::kMostOuter) {
      count_loss(Loss::PoolRegionsNested);
      return;
    }
    position->outer[levels++] = &region->owner;
    position->origin = region->origin;
    position->origin_ticket = region->origin_ticket;
  }
}

// A thread that has done its part: the region's end barrier, or tasks that run there.
void waiting_position(bool in_runtime, PoolOwner* copy, PoolPosition* position) {
  const uint64_t number = t_pool.last_number;
  const Region* last = t_pool.last.load(std::memory_order_relaxed);
  if (in_runtime && t_pool.opened_number && is_open(t_pool.opened_number)) {
    position->state = log::SampleState::Imbalance;  // the opener waits for the others, at the start or the end
    return;
  }
  if (number == 0 || !is_open(number)) {
    if (!in_runtime && !t_pool.worker) return;
    position->state = log::SampleState::Spinning;
    if (number != 0 && t_pool.worker) {
      position->trail = t_pool.last_trail;
      position->trail_number = number;
    }
    return;
  }
  if (in_runtime || t_pool.worker) position->state = log::SampleState::Imbalance;
  PoolOwner owner;
  if (guarded_copy(&owner, reinterpret_cast<uint64_t>(&last->owner), sizeof owner) != sizeof owner) return;
  if (!is_open(number) || owner.thread == current_thread_number()) return;
  if (!in_runtime) position->state = log::SampleState::Running;  // a task
  position->region = number;
  use_owner(owner, copy, position);
}

}  // namespace

PoolPosition pool_position(uint64_t pc, PoolOwner* copy) {
  PoolPosition position;
  const bool in_runtime = pool_runtime_holds(pc);
  const Region* region = t_pool.region.load(std::memory_order_relaxed);
  if (region == nullptr) {
    if (in_runtime || t_pool.worker) waiting_position(in_runtime, copy, &position);
    if (!position.owner) position.origin = current_origin(&position.origin_ticket);
    return position;
  }
  // Inside the work: the runtime's own code there is a barrier or a lock, a wait for the others.
  if (in_runtime) position.state = log::SampleState::Imbalance;
  position.worker_anchor = trampoline_anchor(*region);
  const Region* foreign = foreign_region(region, current_thread_number());
  if (foreign == nullptr) {
    position.worker_anchor = {};  // the opener itself: its own interpreter frame is the better anchor
    position.origin = current_origin(&position.origin_ticket);
    return position;
  }
  use_owner(foreign->owner, copy, &position);
  use_outer(foreign, &position);
  return position;
}

bool pool_owner_stayed(const PoolPosition& position) {
  return position.region == 0 || is_open(position.region);
}

bool pool_runtime_holds(uint64_t pc) { return in_waiting_module(pc); }

void pools_refresh() {
  if (g_work.high.load(std::memory_order_relaxed) == 0) {
    find_range(reinterpret_cast<const void*>(&sonde_region_work), &g_work);
    find_range(reinterpret_cast<const void*>(&sonde_region_microtask), &g_microtask);
  }
}

void pools_after_fork() { graphs_after_fork(); }

}  // namespace sonde
