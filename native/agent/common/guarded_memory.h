// Loads from memory that may not be there.
//
// Each load is one instruction with an entry in a table of fix-ups. When it faults, the SIGSEGV and
// SIGBUS handlers call `guarded_fault_fixup`, which moves the program counter past the load and raises the
// caller's fault flag. A load that does not fault costs nothing beyond the load itself.
//
// Everything here is async-signal-safe. SIGSEGV must not be blocked while a guarded load runs: the kernel
// kills a process whose blocked SIGSEGV is raised by a fault.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/arch.h"

namespace sonde {

// True when the fault in `ucontext` (a ucontext_t*) was a guarded load; the context then resumes after it.
bool guarded_fault_fixup(void* ucontext);

// Number of guarded loads that faulted since the start.
uint64_t guarded_fault_count();

// Addresses that cannot be the program's are refused first: that keeps the fix-up table the only place that knows about faults.
inline bool is_user_address(uint64_t address, size_t bytes) {
  return address >= kLowestUserAddress && address <= kHighestUserAddress - bytes;
}

// *fault is raised (never cleared) when the memory cannot be read; the value is then 0.
template <typename T>
inline T guarded_load(uint64_t address, uint32_t* fault) {
  static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
  if (!is_user_address(address, sizeof(T))) {
    *fault = 1;
    return T{};
  }
  return raw_guarded_load<T>(address, fault);
}

// Copies as many of the `bytes` bytes as can be read from the front; returns how many.
size_t guarded_copy(void* to, uint64_t from, size_t bytes);

}  // namespace sonde
