#include "cpuid/cpuid.h"

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>

int sonde_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t* out) {
  return __get_cpuid_count(leaf, subleaf, &out[0], &out[1], &out[2], &out[3]) ? 0 : -1;
}

uint64_t sonde_xcr0() {
  uint32_t eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return 0;
  constexpr uint32_t kOsxsave = 1u << 27;
  if (!(ecx & kOsxsave)) return 0;  // xgetbv would fault
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

#else

int sonde_cpuid(uint32_t, uint32_t, uint32_t*) { return -1; }

uint64_t sonde_xcr0() { return 0; }

#endif
