// Reads DWARF data of a mapped library, byte by byte, with a hard end and guarded loads:
// a library may be unmapped or damaged under our feet. Async-signal-safe.
#pragma once

#include <cstdint>

#include "common/guarded_memory.h"

namespace sonde {

struct Cursor {
  uint64_t at = 0;
  uint64_t end = 0;
  uint32_t fault = 0;  // a read failed or went past the end; all later values are 0

  bool done() const { return fault || at >= end; }

  // Invariant of every move: at <= end. A length comes from a file; added as it is, it could lead back, and round and
  // round in a signal handler.
  void skip(uint64_t length) {
    if (fault || at > end || length > end - at) {
      fault = 1;
      return;
    }
    at += length;
  }

  template <typename T>
  T fixed() {
    if (fault || at > end || end - at < sizeof(T)) {
      fault = 1;
      return T{};
    }
    const T value = guarded_load<T>(at, &fault);
    at += sizeof(T);
    return value;
  }

  uint64_t uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const auto byte = fixed<uint8_t>();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) break;
    }
    return value;
  }

  int64_t sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const auto byte = fixed<uint8_t>();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) {
        if (shift + 7 < 64 && (byte & 0x40)) value |= ~uint64_t{0} << (shift + 7);
        break;
      }
    }
    return static_cast<int64_t>(value);
  }

  // A pointer in one of the encodings of .eh_frame (DW_EH_PE_*); `data_base` serves datarel.
  uint64_t pointer(uint8_t encoding, uint64_t data_base) {
    constexpr uint8_t kOmit = 0xff, kPcRelative = 0x10, kDataRelative = 0x30, kIndirect = 0x80;
    if (encoding == kOmit) return 0;
    const uint64_t here = at;
    uint64_t value = 0;
    switch (encoding & 0x0f) {
      case 0x00: case 0x04: case 0x0c: value = fixed<uint64_t>(); break;
      case 0x01: value = uleb(); break;
      case 0x02: value = fixed<uint16_t>(); break;
      case 0x03: value = fixed<uint32_t>(); break;
      case 0x09: value = static_cast<uint64_t>(sleb()); break;
      case 0x0a: value = static_cast<uint64_t>(int64_t{fixed<int16_t>()}); break;
      case 0x0b: value = static_cast<uint64_t>(int64_t{fixed<int32_t>()}); break;
      default: fault = 1; return 0;
    }
    switch (encoding & 0x70) {
      case 0: break;
      case kPcRelative: value += here; break;
      case kDataRelative: value += data_base; break;
      default: fault = 1; return 0;
    }
    if (encoding & kIndirect) value = guarded_load<uint64_t>(value, &fault);
    return value;
  }
};

}  // namespace sonde
