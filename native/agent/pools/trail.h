// The Python code that opened a thread's latest region, kept beyond the region's end.
//
// A worker that has done its part spins for a while because the region may be followed by another. By then
// the owner's stack has moved on, so each owner leaves here where its Python code stood when it opened the
// region: addresses only, named in the handler of the worker that asks, so that opening stays cheap (a few
// loads per frame). Two trails per thread, used in turn: a worker that was not scheduled may still spin when the
// owner opens the next region, but no later. The number tells whose a trail is.
#pragma once

#include <atomic>
#include <cstdint>

#include "python/frames.h"

namespace sonde {

struct Origin;
struct Region;

struct RegionTrail {
  static constexpr uint32_t kFrames = 64;  // a deeper stack is cut at its root and counted as truncated

  std::atomic<uint64_t> number{0};  // of the region; 0 while it is being written
  uint32_t thread = 0;              // of the owner
  uint32_t count = 0;
  bool truncated = false;
  const Origin* origin = nullptr;   // see Region
  uint64_t origin_ticket = 0;
  PythonPlace place[kFrames];       // leaf first
};

// Async-signal-safe. On the owner, when it opens the region.
void leave_trail(const Region& region, RegionTrail* trail);

// Async-signal-safe. Copies the trail into *out if it is still that of the region `number`.
bool read_trail(const RegionTrail& trail, uint64_t number, RegionTrail* out);

}  // namespace sonde
