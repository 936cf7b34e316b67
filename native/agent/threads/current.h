// What other rooms of the agent may ask about the calling thread. All async-signal-safe.
#pragma once

#include <cstdint>

#include "common/stack_bounds.h"

namespace sonde {

struct RegionTrail;

constexpr uint32_t kNoThread = 0xffffffffu;

uint32_t current_thread_number();      // kNoThread when the thread is not registered
RegionTrail* next_trail();             // for the region that it opens now; null when not registered
StackBounds current_stack_bounds();    // {0, 0} when not registered

}  // namespace sonde
