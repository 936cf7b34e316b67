// The widest vector instructions that this processor has and this kernel saves
// on a switch of threads. Asked of CPUID here: `target_clones` and
// `__builtin_cpu_supports` need a runtime that not every compiler links.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace sonde {

enum class VectorUnit { kBaseline, kAvx2, kAvx512 };

#if defined(__x86_64__)
inline VectorUnit AskVectorUnit() {
  constexpr uint32_t kFma = 1u << 12, kOsxsave = 1u << 27, kAvx = 1u << 28;  // leaf 1, ECX
  constexpr uint32_t kAvx2 = 1u << 5, kAvx512f = 1u << 16;                   // leaf 7, EBX
  constexpr uint32_t kYmmState = 0x6, kZmmState = 0xe6;                      // XCR0
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return VectorUnit::kBaseline;
  constexpr uint32_t kNeeded = kFma | kOsxsave | kAvx;
  if ((c & kNeeded) != kNeeded || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return VectorUnit::kBaseline;
  uint32_t saved = 0, high = 0;
  __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  if ((b & kAvx512f) && (saved & kZmmState) == kZmmState) return VectorUnit::kAvx512;
  if ((b & kAvx2) && (saved & kYmmState) == kYmmState) return VectorUnit::kAvx2;
  return VectorUnit::kBaseline;
}
#else
inline VectorUnit AskVectorUnit() { return VectorUnit::kBaseline; }
#endif

}  // namespace sonde
