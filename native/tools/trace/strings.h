// Distinct strings, each kept once in an arena and known by a small integer from then on.
// The hash is seeded per table, so a crafted file cannot aim at collisions.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "trace/wide.h"

namespace sonde::trace {

class Strings {
 public:
  enum Flag : std::uint8_t {
    kBadUtf8 = 1,
    kControl = 2,   // raw control character, which JSON forbids
    kBadEscape = 4,  // a backslash that starts no JSON escape, kept as it is
    kDecoded = 8     // escapes were decoded: control characters in it are lawful unless flagged
  };

  explicit Strings(std::uint64_t seed) : seed_(seed | 1), slots_(1024, kEmpty) { offsets_.push_back(0); }

  // The code of `text`; `flags` are added to what is known about a new string.
  std::int32_t intern(std::string_view text, std::uint8_t flags = 0) {
    const std::uint64_t h = hash(text);
    const std::size_t at = slot_of(text, h);
    return slots_[at] == kEmpty ? insert(text, flags, h, at) : code_in(at);
  }

  // The code of `text`, -1 when it is not there.
  std::int32_t find(std::string_view text) const {
    const std::size_t at = slot_of(text, hash(text));
    return slots_[at] == kEmpty ? -1 : code_in(at);
  }

  std::string_view get(std::int32_t code) const {
    const auto i = static_cast<std::size_t>(code);
    return {bytes_.data() + offsets_[i], offsets_[i + 1] - offsets_[i]};
  }
  std::uint8_t flags(std::int32_t code) const { return flags_[static_cast<std::size_t>(code)]; }
  std::size_t size() const { return flags_.size(); }
  const std::vector<char>& bytes() const { return bytes_; }
  const std::vector<std::uint64_t>& offsets() const { return offsets_; }

 private:
  static constexpr std::uint64_t kEmpty = ~0ULL;

  std::uint64_t hash(std::string_view text) const {
    std::uint64_t h = seed_ ^ (text.size() * 0x9E3779B97F4A7C15ULL);
    const char* p = text.data();
    std::size_t n = text.size();
    for (; n > 8; n -= 8, p += 8) h = mix(h ^ word(p, 8));
    return mix(h ^ word(p, n));
  }
  std::int32_t code_in(std::size_t at) const { return static_cast<std::int32_t>(slots_[at] & 0xffffffffU); }
  // Where `text` stands, or the empty slot where it would.
  std::size_t slot_of(std::string_view text, std::uint64_t h) const {
    std::size_t at = h & (slots_.size() - 1);
    while (slots_[at] != kEmpty && !((slots_[at] >> 32) == (h >> 32) && get(code_in(at)) == text)) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }
  static std::uint64_t word(const char* p, std::size_t n) {
    std::uint64_t w = 0;
    std::memcpy(&w, p, n);
    return w;
  }
  std::uint64_t mix(std::uint64_t x) const {
    const Wide product = static_cast<Wide>(x ^ seed_) * 0xD6E8FEB86659FD93ULL;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  std::int32_t insert(std::string_view text, std::uint8_t flags, std::uint64_t h, std::size_t at);
  void grow();

  std::uint64_t seed_;
  std::vector<std::uint64_t> slots_;  // high half: hash, low half: code
  std::vector<char> bytes_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint8_t> flags_;
};

// Whether every byte belongs to well-formed UTF-8 (no surrogates, no overlong forms).
bool is_utf8(std::string_view text);

}  // namespace sonde::trace
