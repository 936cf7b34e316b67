#include <memory>
#include <new>

#include "roof/roof.h"
#include "roof/team.h"
#include "roof/vector_unit.h"

namespace {

using Pass = void (*)(float*, const float*, const float*, size_t);

[[gnu::always_inline]] inline void Triad(float* __restrict a, const float* __restrict b,
                                         const float* __restrict c, size_t count) {
  for (size_t i = 0; i < count; ++i) a[i] = b[i] + 3.0f * c[i];
}

void Baseline(float* a, const float* b, const float* c, size_t count) { Triad(a, b, c, count); }

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void Avx2(float* a, const float* b, const float* c, size_t count) {
  Triad(a, b, c, count);
}
__attribute__((target("avx512f"))) void Avx512(float* a, const float* b, const float* c, size_t count) {
  Triad(a, b, c, count);
}
#endif

Pass Best() {
#if defined(__x86_64__)
  switch (sonde::AskVectorUnit()) {
    case sonde::VectorUnit::kAvx512: return Avx512;
    case sonde::VectorUnit::kAvx2: return Avx2;
    case sonde::VectorUnit::kBaseline: break;
  }
#endif
  return Baseline;
}

struct Arrays {
  std::unique_ptr<float[]> a, b, c;
  size_t next = 0;
};

}  // namespace

double sonde_roof_triad(int threads, uint64_t bytes, uint64_t slice, uint64_t repeats, int samples,
                        double* seconds) {
  const size_t count = bytes / (3 * sizeof(float));
  const size_t part = std::min(count, static_cast<size_t>(slice / (3 * sizeof(float))));
  if (threads < 1 || samples < 1 || repeats < 1 || part < 16) return 0;
  std::vector<Arrays> memory(static_cast<size_t>(threads));
  for (Arrays& m : memory) {
    m.a.reset(new (std::nothrow) float[count]);
    m.b.reset(new (std::nothrow) float[count]);
    m.c.reset(new (std::nothrow) float[count]);
    if (!m.a || !m.b || !m.c) return 0;
  }
  const Pass triad = Best();
  sonde::RunTeam(
      threads, samples, seconds,
      [&](int t) {
        // First touch by the thread that will use it, so that its node holds it.
        Arrays& m = memory[static_cast<size_t>(t)];
        std::fill_n(m.a.get(), count, 0.0f);
        std::fill_n(m.b.get(), count, 1.0f);
        std::fill_n(m.c.get(), count, 2.0f);
      },
      [&](int t) {
        Arrays& m = memory[static_cast<size_t>(t)];
        if (m.next + part > count) m.next = 0;
        for (uint64_t r = 0; r < repeats; ++r) {
          triad(m.a.get() + m.next, m.b.get() + m.next, m.c.get() + m.next, part);
          __asm__ volatile("" : : "r"(m.a.get()) : "memory");  // each pass must be made
        }
        m.next += part;
      });
  return 3.0 * sizeof(float) * static_cast<double>(part) * static_cast<double>(repeats) * threads;
}
