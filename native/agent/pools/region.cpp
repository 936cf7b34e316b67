#include "pools/region.h"

#include "core/agent.h"
#include "pools/trail.h"
#include "python/frames.h"

namespace sonde {
namespace {

// Numbers of open regions, hashed. Two regions that meet in one place only make the older look closed.
constexpr unsigned kPlaces = 256;
std::atomic<uint64_t> g_open[kPlaces];
std::atomic<uint64_t> g_next_number{1};

std::atomic<uint64_t>& place(uint64_t number) { return g_open[number % kPlaces]; }

}  // namespace

constinit thread_local PoolThread t_pool;

bool region_wanted() { return current_thread_number() != kNoThread; }

void open_region(Region* region) {
  region->enclosing = t_pool.region.load(std::memory_order_relaxed);
  region->owner.thread = current_thread_number();
  region->owner.stack = current_stack_bounds();
  region->owner.python_state = python_thread_state();
  // A worker that opens a region does so for the Python code of its own owner.
  if (region->owner.python_state == nullptr && region->enclosing) {
    region->owner.python_state = region->enclosing->owner.python_state;
  }
  region->origin = current_origin(&region->origin_ticket);
  region->number = g_next_number.fetch_add(1, std::memory_order_relaxed);
  RegionTrail* trail = agent_sampling() ? next_trail() : nullptr;
  if (trail) {
    leave_trail(*region, trail);
    region->trail = trail;
  }
  place(region->number).store(region->number, std::memory_order_release);
  t_pool.opened_number = region->number;
}

void close_region(const Region& region) {
  uint64_t expected = region.number;
  place(region.number).compare_exchange_strong(expected, 0, std::memory_order_acq_rel);
}

bool is_open(uint64_t number) { return place(number).load(std::memory_order_acquire) == number; }

InRegion::InRegion(const Region* region)
    : region_(region),
      outer_(t_pool.region.load(std::memory_order_relaxed)),
      outer_anchor_(t_pool.anchor) {
  t_pool.anchor = reinterpret_cast<uint64_t>(this);
  if (region->owner.thread != current_thread_number()) t_pool.worker = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_pool.region.store(region, std::memory_order_relaxed);
}

InRegion::~InRegion() {
  t_pool.last_number = 0;  // no moment with a number and the other region's pointer
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_pool.last.store(region_, std::memory_order_relaxed);
  t_pool.last_trail = region_->trail;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_pool.last_number = region_->number;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_pool.region.store(outer_, std::memory_order_relaxed);
  t_pool.anchor = outer_anchor_;
}

extern "C" __attribute__((noinline)) void sonde_region_work(void* opaque) {
  const auto* region = static_cast<const Region*>(opaque);
  const InRegion inside(region);
  region->work(region->data);
}

extern "C" __attribute__((noinline)) void sonde_region_microtask(int* global_thread, int* bound_thread,
                                                                 void* opaque) {
  const auto* region = static_cast<const Region*>(opaque);
  const InRegion inside(region);
  sonde_call_microtask(region->microtask, global_thread, bound_thread, region->argument_count,
                       region->arguments);
}

}  // namespace sonde
