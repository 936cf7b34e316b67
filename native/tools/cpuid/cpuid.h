// What the processor says of itself: raw CPUID leaves and the OS-enabled state
// bits of XCR0. Decoding into names happens in sonde/machine/isa.py, so that it
// can be tested with the registers of other machines.
#pragma once

#include <cstdint>

extern "C" {

// Fills out[0..3] with eax, ebx, ecx, edx. Returns 0, or -1 when this is not x86
// or the leaf is above the highest one that the processor knows.
__attribute__((visibility("default"))) int sonde_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t* out);

// XCR0, the register states that the operating system saves; 0 when it has
// enabled none (no OSXSAVE) or this is not x86.
__attribute__((visibility("default"))) uint64_t sonde_xcr0();
}
