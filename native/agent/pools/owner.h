// Whose work a pool worker does. The interposed GOMP_parallel / __kmpc_fork_call
// leave on the owner's stack what a worker needs to walk on into the owner.
#pragma once

#include <cstdint>

#include "arch/arch.h"
#include "common/stack_bounds.h"
#include "log/format.h"
#include "threads/current.h"
#include "unwind/unwind.h"

namespace sonde {

// Valid as long as the worker is inside the region: the owner waits for it, its outer frames are frozen.
struct PoolOwner {
  Registers registers;                // of the owner where it called into the region (pc is a return address)
  StackBounds stack;
  Anchor anchor;                      // python_anchor of the owner at that point
  void* python_state = nullptr;       // python_thread_state() of the owner
  uint32_t thread = kNoThread;        // owner's thread number
};

struct Origin;       // origin.h
struct RegionTrail;  // trail.h

struct PoolPosition {
  static constexpr unsigned kMostOuter = 4;

  const PoolOwner* owner = nullptr;   // null: not inside a region, or the owner itself
  const PoolOwner* outer[kMostOuter] = {};  // whose region the owner was in, and so on outwards; null ends it
  const Origin* origin = nullptr;     // of what the outermost of them works on, or of what this thread does
  uint64_t origin_ticket = 0;         // see origin_stayed
  uint64_t region = 0;                // not 0: the owner may leave at any moment, see pool_owner_stayed
  const RegionTrail* trail = nullptr;  // for a worker that spins after a region: what its opener left
  uint64_t trail_number = 0;          // of that region
  Anchor worker_anchor;               // a local of the trampoline on the worker's own stack
  log::SampleState state = log::SampleState::Running;  // Spinning or Imbalance when busy waiting
};

// Async-signal-safe. Where the calling thread is with respect to pools, when interrupted at `pc`. `copy` is the thread's
// own, for what the answer points to.
PoolPosition pool_position(uint64_t pc, PoolOwner* copy);

// Async-signal-safe. Asked after the owner's stack was walked: did it stay in the region all the time?
// A worker that is done and waits at the region's end does not hold the owner back; on false the owner's
// frames are worth nothing.
bool pool_owner_stayed(const PoolPosition& position);

// Async-signal-safe. Is pc in an OpenMP runtime? A thread that is blocked there is idle.
bool pool_runtime_holds(uint64_t pc);

// Not async-signal-safe. Called by the background thread: finds the runtimes' address ranges.
void pools_refresh();

// Not async-signal-safe. In the child of a fork.
void pools_after_fork();

}  // namespace sonde
