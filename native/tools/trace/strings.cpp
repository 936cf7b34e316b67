#include "trace/strings.h"

#include <stdexcept>

namespace sonde::trace {

std::int32_t Strings::insert(std::string_view text, std::uint8_t flags, std::uint64_t h, std::size_t at) {
  if (flags_.size() >= 0x7ffffff0U) throw std::length_error("more than two billion distinct strings");
  const auto code = static_cast<std::int32_t>(flags_.size());
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  offsets_.push_back(bytes_.size());
  if ((flags & kDecoded) == 0) {
    for (const char c : text) {
      if (static_cast<unsigned char>(c) < 0x20) flags |= kControl;
    }
  }
  if (!is_utf8(text)) flags |= kBadUtf8;
  flags_.push_back(flags);
  slots_[at] = (h & 0xffffffff00000000ULL) | static_cast<std::uint32_t>(code);
  if (flags_.size() * 2 > slots_.size()) grow();
  return code;
}

void Strings::grow() {
  std::vector<std::uint64_t> slots(slots_.size() * 2, kEmpty);
  for (std::size_t code = 0; code < flags_.size(); ++code) {
    const std::uint64_t h = hash(get(static_cast<std::int32_t>(code)));
    std::size_t at = h & (slots.size() - 1);
    while (slots[at] != kEmpty) at = (at + 1) & (slots.size() - 1);
    slots[at] = (h & 0xffffffff00000000ULL) | code;
  }
  slots_.swap(slots);
}

bool is_utf8(std::string_view text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const unsigned char* end = p + text.size();
  while (p < end) {
    if (*p < 0x80) {
      ++p;
      continue;
    }
    int more = 0;
    std::uint32_t point = 0;
    std::uint32_t least = 0;
    if ((*p & 0xE0) == 0xC0) {
      more = 1, point = *p & 0x1F, least = 0x80;
    } else if ((*p & 0xF0) == 0xE0) {
      more = 2, point = *p & 0x0F, least = 0x800;
    } else if ((*p & 0xF8) == 0xF0) {
      more = 3, point = *p & 0x07, least = 0x10000;
    } else {
      return false;
    }
    if (end - p <= more) return false;
    for (int i = 1; i <= more; ++i) {
      if ((p[i] & 0xC0) != 0x80) return false;
      point = (point << 6) | (p[i] & 0x3F);
    }
    if (point < least || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return false;
    p += more + 1;
  }
  return true;
}

}  // namespace sonde::trace
