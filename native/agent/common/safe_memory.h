// Reads of memory that may not be there: other threads' stacks, the interpreter's
// structures, code that is being unmapped. A read that faults returns false.
//
// How: the copy is a few instructions at known addresses; Sonde's SIGSEGV/SIGBUS
// handler (signals/fault.cpp) moves a fault there to the "failed" exit. Where that handler
// cannot stay installed, the same functions go through process_vm_readv (about 1 us each).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde {

// Async-signal-safe. All or nothing to the caller; on false `to` may hold a part.
bool safe_copy(void* to, uint64_t from, size_t size);

// Async-signal-safe. About 3 ns when it does not fault.
template <typename T>
inline bool safe_read(uint64_t from, T* out) {
  return safe_copy(out, from, sizeof(T));
}

}  // namespace sonde
