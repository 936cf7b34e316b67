// What the machine can do, measured: fused multiply-adds in registers, and a
// triad (a = b + s * c) over working sets of a chosen size. Used by
// `sonde check --roof`; sizes, repeats and statistics are decided in Python.
#pragma once

#include <cstdint>

extern "C" {

// Vector width in bytes of the fused multiply-add kernel that this processor
// runs (64, 32 or 16).
__attribute__((visibility("default"))) int sonde_roof_width();

// Each of `threads` threads runs `rounds` rounds of independent float FMAs.
// Fills seconds[0..samples) with the time from the first start to the last end
// and returns the FLOPs of one sample, 0 on bad arguments.
__attribute__((visibility("default"))) double sonde_roof_fma(int threads, uint64_t rounds, int samples,
                                                             double* seconds);

// Each thread holds three arrays of together `bytes`, touched by it first, and
// per sample runs `repeats` triads over the next `slice` bytes of them, going
// round: a working set above all caches, in samples short enough not to be
// preempted. Returns the bytes moved per sample (three arrays; the read that a
// write allocates is not counted), 0 on bad arguments or when memory is short.
__attribute__((visibility("default"))) double sonde_roof_triad(int threads, uint64_t bytes, uint64_t slice,
                                                               uint64_t repeats, int samples,
                                                               double* seconds);
}
