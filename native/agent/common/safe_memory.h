// Whole objects from memory that may not be there: other threads' stacks, the interpreter's
// structures, the loader's list. The loads themselves are in guarded_memory.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/guarded_memory.h"

namespace sonde {

// Async-signal-safe. On false `to` may hold a part.
inline bool safe_copy(void* to, uint64_t from, size_t size) { return guarded_copy(to, from, size) == size; }

template <typename T>
inline bool safe_read(uint64_t from, T* out) {
  return safe_copy(out, from, sizeof(T));
}

}  // namespace sonde
