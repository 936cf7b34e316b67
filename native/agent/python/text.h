// Strings of the interpreter as UTF-8, handed on piece by piece: no allocation, little stack.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/guarded_memory.h"
#include "python/layout.h"

namespace sonde::python {

// Encodes one code point; returns the number of bytes. Lone surrogates become U+FFFD.
inline size_t encode_utf8(uint32_t c, unsigned char out[4]) {
  if (c >= 0xd800 && c < 0xe000) c = 0xfffd;
  if (c > 0x10ffff) c = 0xfffd;
  if (c < 0x80) {
    out[0] = static_cast<unsigned char>(c);
    return 1;
  }
  if (c < 0x800) {
    out[0] = static_cast<unsigned char>(0xc0 | c >> 6);
    out[1] = static_cast<unsigned char>(0x80 | (c & 63));
    return 2;
  }
  if (c < 0x10000) {
    out[0] = static_cast<unsigned char>(0xe0 | c >> 12);
    out[1] = static_cast<unsigned char>(0x80 | (c >> 6 & 63));
    out[2] = static_cast<unsigned char>(0x80 | (c & 63));
    return 3;
  }
  out[0] = static_cast<unsigned char>(0xf0 | c >> 18);
  out[1] = static_cast<unsigned char>(0x80 | (c >> 12 & 63));
  out[2] = static_cast<unsigned char>(0x80 | (c >> 6 & 63));
  out[3] = static_cast<unsigned char>(0x80 | (c & 63));
  return 4;
}

constexpr size_t kPieceBytes = 256;

// Async-signal-safe. Calls sink(bytes, size) for the string object at `address`, at most
// `longest` characters of it. False when it is not a readable, compact string.
template <class Sink>
bool stream_text(const Layout& layout, uint64_t address, int64_t longest, Sink&& sink) {
  uint32_t fault = 0;
  auto length = guarded_load<int64_t>(address + static_cast<uint64_t>(layout.text_length), &fault);
  const auto state = guarded_load<uint32_t>(address + static_cast<uint64_t>(layout.text_state), &fault);
  const unsigned kind = state >> layout.text_kind_shift & 7;
  const bool compact = state >> (layout.text_kind_shift + 3) & 1;
  const bool ascii = state >> (layout.text_kind_shift + 4) & 1;
  if (fault || !compact || length < 0 || (kind != 1 && kind != 2 && kind != 4)) return false;
  if (length > longest) length = longest;
  uint64_t from = address + static_cast<uint64_t>(ascii ? layout.text_ascii_size : layout.text_compact_size);
  unsigned char in[kPieceBytes];
  unsigned char out[kPieceBytes];
  while (length > 0) {
    int64_t count = static_cast<int64_t>(kPieceBytes / 4);  // 4: one code point may need that much
    if (count > length) count = length;
    const size_t size = static_cast<size_t>(count) * kind;
    if (guarded_copy(in, from, size) != size) return false;
    size_t used = 0;
    for (int64_t i = 0; i < count; ++i) {
      uint32_t c = 0;
      memcpy(&c, in + i * kind, kind);
      used += encode_utf8(c, out + used);
    }
    sink(out, used);
    from += size;
    length -= count;
  }
  return true;
}

// Async-signal-safe. The same for a bytes object; refuses one that is longer than `longest`.
template <class Sink>
bool stream_bytes(const Layout& layout, uint64_t address, int64_t longest, Sink&& sink) {
  uint32_t fault = 0;
  auto length = guarded_load<int64_t>(address + static_cast<uint64_t>(layout.bytes_size), &fault);
  if (fault || length < 0 || length > longest) return false;
  uint64_t from = address + static_cast<uint64_t>(layout.bytes_data);
  unsigned char piece[kPieceBytes];
  while (length > 0) {
    const size_t count = static_cast<size_t>(length) < kPieceBytes ? static_cast<size_t>(length) : kPieceBytes;
    if (guarded_copy(piece, from, count) != count) return false;
    sink(piece, count);
    from += count;
    length -= static_cast<int64_t>(count);
  }
  return true;
}

}  // namespace sonde::python
