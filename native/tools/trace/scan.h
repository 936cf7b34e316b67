// Byte scanning over a buffer that has kPadding readable zero bytes after its end.
// The padding lets every loop read whole words; a hit at or after `end` is "need more input".
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sonde::trace {

constexpr std::size_t kPadding = 64;

inline bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// First byte that is not white space. Zero padding stops it, so it never runs past `end` by more
// than nothing: the byte at `end` is zero.
inline const char* skip_space(const char* p) {
  while (is_space(*p)) ++p;
  return p;
}

// First '"' or '\\' at or after p; returns `end` (or beyond) when there is none before it.
inline const char* find_quote(const char* p, const char* end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i slash = _mm_set1_epi8('\\');
  while (p < end) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const int mask =
        _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, slash)));
    if (mask != 0) return p + __builtin_ctz(static_cast<unsigned>(mask));
    p += 16;
  }
  return end;
#else
  // Eight bytes at once: a byte equal to the wanted one becomes zero after xor, and the classic
  // carry trick marks zero bytes. Exact for the lowest marked byte, which is all that is used.
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  constexpr std::uint64_t kHigh = 0x8080808080808080ULL;
  while (p < end) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    const std::uint64_t a = word ^ (kOnes * static_cast<unsigned char>('"'));
    const std::uint64_t b = word ^ (kOnes * static_cast<unsigned char>('\\'));
    const std::uint64_t hits = (((a - kOnes) & ~a) | ((b - kOnes) & ~b)) & kHigh;
    if (hits != 0) return p + (__builtin_ctzll(hits) >> 3);
    p += 8;
  }
  return end;
#endif
}

}  // namespace sonde::trace
