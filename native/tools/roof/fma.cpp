#include "roof/roof.h"
#include "roof/team.h"
#include "roof/vector_unit.h"

namespace {

// Enough independent chains to cover the latency of two FMA units.
constexpr int kChains = 10;
constexpr int kUnrolled = 16;  // steps of each chain in one round

typedef float Vector16 __attribute__((vector_size(16)));
typedef float Vector32 __attribute__((vector_size(32)));
typedef float Vector64 __attribute__((vector_size(64)));

template <typename Vector>
[[gnu::always_inline]] inline void Chains(uint64_t rounds) {
  Vector factor = Vector{} + 0.999999f;
  Vector addend = Vector{} + 1e-6f;
  Vector sum[kChains];
  for (int i = 0; i < kChains; ++i) sum[i] = addend * static_cast<float>(i);
  for (uint64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int step = 0; step < kUnrolled; ++step) {
#pragma GCC unroll 10
      for (int i = 0; i < kChains; ++i) sum[i] = sum[i] * factor + addend;
    }
  }
  // Every lane is asked for, so that none is left out. A copy: the chains themselves stay in registers.
  Vector results[kChains];
  for (int i = 0; i < kChains; ++i) results[i] = sum[i];
  __asm__ volatile("" : : "r"(results) : "memory");
}

void Run16(uint64_t rounds) { Chains<Vector16>(rounds); }

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void Run32(uint64_t rounds) { Chains<Vector32>(rounds); }
__attribute__((target("avx512f"))) void Run64(uint64_t rounds) { Chains<Vector64>(rounds); }
#endif

struct Kernel {
  void (*run)(uint64_t);
  int width;
};

Kernel Best() {
#if defined(__x86_64__)
  switch (sonde::AskVectorUnit()) {
    case sonde::VectorUnit::kAvx512: return {Run64, 64};
    case sonde::VectorUnit::kAvx2: return {Run32, 32};
    case sonde::VectorUnit::kBaseline: break;
  }
#endif
  return {Run16, 16};
}

}  // namespace

int sonde_roof_width() { return Best().width; }

double sonde_roof_fma(int threads, uint64_t rounds, int samples, double* seconds) {
  if (threads < 1 || samples < 1 || rounds < 1) return 0;
  const Kernel kernel = Best();
  sonde::RunTeam(
      threads, samples, seconds, [&](int) { kernel.run(1000); }, [&](int) { kernel.run(rounds); });
  const double lanes = kernel.width / static_cast<double>(sizeof(float));
  return 2.0 * lanes * kChains * kUnrolled * static_cast<double>(rounds) * threads;
}
