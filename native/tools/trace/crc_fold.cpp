// V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009), for the
// reflected polynomial of gzip: four streams of 16 bytes are folded into one, and that reduced to 32 bits.
#include "trace/crc_fold.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

namespace sonde::trace {
namespace {

constexpr std::size_t kLeast = 64;

// Remainders of powers of x: by how far a stream is moved on.
constexpr long long kBy512[2] = {0x0154442bd4, 0x01c6e41596};
constexpr long long kBy128[2] = {0x01751997d0, 0x00ccaa009e};
constexpr long long kBy64 = 0x0163cd6124;
constexpr long long kBarrett[2] = {0x01db710641, 0x01f7011641};

bool has_instructions() {
  constexpr std::uint32_t kMultiply = 1u << 1, kSse41 = 1u << 19;
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & kMultiply) && (c & kSse41);
}

#define SONDE_FOLD __attribute__((target("pclmul,sse4.1")))

SONDE_FOLD inline __m128i at(const std::uint8_t* data) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
}

SONDE_FOLD inline __m128i fold(__m128i stream, __m128i by, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(stream, by, 0x00), high = _mm_clmulepi64_si128(stream, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

SONDE_FOLD std::uint32_t reduced(__m128i x) {
  const __m128i low_words = _mm_setr_epi32(-1, 0, -1, 0);
  const __m128i by128 = _mm_set_epi64x(kBy128[1], kBy128[0]), barrett = _mm_set_epi64x(kBarrett[1], kBarrett[0]);
  x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, by128, 0x10));
  const __m128i upper = _mm_srli_si128(x, 4);
  x = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(x, low_words), _mm_set_epi64x(0, kBy64), 0x00), upper);
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(x, low_words), barrett, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_words), barrett, 0x00);
  return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(x, quotient), 1));
}

SONDE_FOLD std::size_t fold_all(std::uint32_t* state, const std::uint8_t* data, std::size_t size) {
  const __m128i by512 = _mm_set_epi64x(kBy512[1], kBy512[0]), by128 = _mm_set_epi64x(kBy128[1], kBy128[0]);
  __m128i a = _mm_xor_si128(at(data), _mm_cvtsi32_si128(static_cast<int>(*state)));
  __m128i b = at(data + 16), c = at(data + 32), d = at(data + 48);
  std::size_t done = 64;
  for (; done + 64 <= size; done += 64) {
    a = fold(a, by512, at(data + done));
    b = fold(b, by512, at(data + done + 16));
    c = fold(c, by512, at(data + done + 32));
    d = fold(d, by512, at(data + done + 48));
  }
  a = fold(fold(fold(a, by128, b), by128, c), by128, d);
  for (; done + 16 <= size; done += 16) a = fold(a, by128, at(data + done));
  *state = reduced(a);
  return done;
}

}  // namespace

std::size_t fold_crc32(std::uint32_t* state, const std::uint8_t* data, std::size_t size) {
  static const bool can = has_instructions();
  return can && size >= kLeast ? fold_all(state, data, size) : 0;
}

}  // namespace sonde::trace

#else

namespace sonde::trace {
std::size_t fold_crc32(std::uint32_t*, const std::uint8_t*, std::size_t) { return 0; }
}  // namespace sonde::trace

#endif
