// The part of memory that a thread's stack may occupy; reads outside it are refused.
#pragma once

#include <cstdint>

namespace sonde {

struct StackBounds {
  uint64_t low = 0;   // lowest mapped address
  uint64_t high = 0;  // one past the highest
};

}  // namespace sonde
