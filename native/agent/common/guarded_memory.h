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

namespace sonde {

// True when the fault in `ucontext` (a ucontext_t*) was a guarded load; the context then resumes after it.
bool guarded_fault_fixup(void* ucontext);

// Number of guarded loads that faulted since the start.
uint64_t guarded_fault_count();

constexpr uint64_t kLowestUserAddress = 4096;
constexpr uint64_t kHighestUserAddress = 0x7ffffffff000;

// A non-canonical address raises a general protection fault (SIGSEGV as well, without an address);
// refusing it first keeps the fix-up table the only place that knows about faults.
inline bool is_user_address(uint64_t address, size_t bytes) {
  return address >= kLowestUserAddress && address <= kHighestUserAddress - bytes;
}

// The `?` puts the two sections into the group of an inline function's section, to be dropped together.
#define SONDE_GUARDED_LOAD(instruction, value, fault, address)       \
  asm volatile("1: " instruction                                     \
               "\n2:\n"                                              \
               ".pushsection .text.sonde_fixup,\"ax?\",@progbits\n"   \
               "3: movl $1, %1\n"                                    \
               "   xorl %k0, %k0\n"                                  \
               "   jmp 2b\n"                                         \
               ".popsection\n"                                       \
               ".pushsection sonde_fixups,\"a?\",@progbits\n"         \
               ".balign 4\n"                                         \
               ".long 1b - .\n"                                      \
               ".long 3b - .\n"                                      \
               ".popsection\n"                                       \
               : "=&r"(value), "+r"(fault)                           \
               : "r"(address)                                        \
               : "memory")

// *fault is raised (never cleared) when the memory cannot be read; the value is then 0.
template <typename T>
inline T guarded_load(uint64_t address, uint32_t* fault) {
  static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
  if (!is_user_address(address, sizeof(T))) {
    *fault = 1;
    return T{};
  }
  uint64_t value;
  uint32_t failed = *fault;
  if constexpr (sizeof(T) == 1) {
    SONDE_GUARDED_LOAD("movzbl (%2), %k0", value, failed, address);
  } else if constexpr (sizeof(T) == 2) {
    SONDE_GUARDED_LOAD("movzwl (%2), %k0", value, failed, address);
  } else if constexpr (sizeof(T) == 4) {
    SONDE_GUARDED_LOAD("movl (%2), %k0", value, failed, address);
  } else {
    SONDE_GUARDED_LOAD("movq (%2), %0", value, failed, address);
  }
  *fault = failed;
  return static_cast<T>(value);
}

#undef SONDE_GUARDED_LOAD

// Copies as many of the `bytes` bytes as can be read from the front; returns how many.
size_t guarded_copy(void* to, uint64_t from, size_t bytes);

}  // namespace sonde
