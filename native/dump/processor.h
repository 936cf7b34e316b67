// The architecture's registers, with loads from another process's memory instead of guarded ones.
#pragma once

#include <cstdint>

#include "addresses.h"
#include "memory.h"
#include "registers.h"

namespace sonde {

// On a read that fails *failed becomes 1 and the value is 0.
template <typename T>
inline T raw_guarded_load(uint64_t address, uint32_t* failed) {
  T value{};
  if (!dump::read_memory(address, &value, sizeof value)) {
    *failed = 1;
    return T{};
  }
  return value;
}

}  // namespace sonde
