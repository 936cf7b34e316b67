// One load that may fault, with an entry in the table of fix-ups (common/guarded_memory.h).
#pragma once

#include <cstdint>

namespace sonde {

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

// On a fault *failed becomes 1 and the value is 0.
template <typename T>
inline T raw_guarded_load(uint64_t address, uint32_t* failed) {
  uint64_t value;
  uint32_t fault = *failed;
  if constexpr (sizeof(T) == 1) {
    SONDE_GUARDED_LOAD("movzbl (%2), %k0", value, fault, address);
  } else if constexpr (sizeof(T) == 2) {
    SONDE_GUARDED_LOAD("movzwl (%2), %k0", value, fault, address);
  } else if constexpr (sizeof(T) == 4) {
    SONDE_GUARDED_LOAD("movl (%2), %k0", value, fault, address);
  } else {
    SONDE_GUARDED_LOAD("movq (%2), %0", value, fault, address);
  }
  *failed = fault;
  return static_cast<T>(value);
}

#undef SONDE_GUARDED_LOAD

}  // namespace sonde
