#include "python/line_table.h"

namespace sonde::python {
namespace {

// An entry begins with 1 kkkk lll: kind, and the number of two-byte units minus one.
enum Kind : unsigned { kShortLast = 9, kOneLine = 10, kOneLineLast = 12, kNoColumns = 13, kLong = 14, kNone = 15 };
constexpr unsigned kMostUnits = 8;

struct Reader {
  const uint8_t* at;
  const uint8_t* end;
  bool ok = true;

  unsigned byte() {
    if (at == end) ok = false;
    return ok ? *at++ : 0;
  }
  uint64_t varint() {  // six bits to a byte, the lowest first
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 36; shift += 6) {
      const unsigned piece = byte();
      value |= static_cast<uint64_t>(piece & 63) << shift;
      if (!(piece & 64)) return value;
    }
    ok = false;
    return 0;
  }
  int64_t signed_varint() {
    const uint64_t value = varint();
    return value & 1 ? -static_cast<int64_t>(value >> 1) : static_cast<int64_t>(value >> 1);
  }
};

struct Sink {
  uint8_t* to;
  size_t capacity;
  size_t used = 0;

  void byte(uint64_t value) {
    if (used < capacity) to[used] = static_cast<uint8_t>(value);
    used++;
  }
  void signed_varint(int64_t value) {
    uint64_t rest = value < 0 ? static_cast<uint64_t>(-value) << 1 | 1 : static_cast<uint64_t>(value) << 1;
    for (; rest >= 64; rest >>= 6) byte((rest & 63) | 64);
    byte(rest);
  }
  // `delta` lines further on (or nowhere) for so many units.
  void run(bool has_line, int64_t delta, uint64_t units) {
    while (units) {
      const uint64_t now = units < kMostUnits ? units : kMostUnits;
      byte(0x80 | (has_line ? kNoColumns : kNone) << 3 | (now - 1));
      if (has_line) signed_varint(delta);
      delta = 0;
      units -= now;
    }
  }
};

}  // namespace

size_t lines_only(const uint8_t* table, size_t size, uint8_t* out, size_t capacity) {
  Reader in{table, table + size};
  Sink sink{out, capacity};
  bool has_line = false;
  int64_t delta = 0;      // of the run at hand, to the line before it
  uint64_t units = 0;
  while (in.at != in.end) {
    const unsigned head = in.byte();
    if (!(head & 0x80)) return 0;
    const unsigned kind = head >> 3 & 15;
    int64_t step = 0;
    if (kind <= kShortLast) {
      in.byte();
    } else if (kind <= kOneLineLast) {
      step = static_cast<int64_t>(kind - kOneLine);
      in.byte();
      in.byte();
    } else if (kind == kNoColumns || kind == kLong) {
      step = in.signed_varint();
      for (unsigned i = 0; kind == kLong && i < 3; i++) in.varint();
    }
    if (!in.ok) return 0;
    if (units && (step != 0 || has_line != (kind != kNone))) {
      sink.run(has_line, delta, units);
      // A run without a line moves nothing: its successor counts from the line before it.
      units = 0;
      delta = 0;
    }
    delta += step;
    has_line = kind != kNone;
    units += (head & 7) + 1;
  }
  sink.run(has_line, delta, units);
  return sink.used <= capacity ? sink.used : 0;
}

}  // namespace sonde::python
