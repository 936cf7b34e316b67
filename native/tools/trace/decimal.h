// Decimal numbers read exactly: a mantissa and a power of ten, never through a double.
// 1686430713341388.137 microseconds is 1686430713341388137 nanoseconds, to the last digit.
#pragma once

#include <cstdint>

#include "trace/wide.h"

namespace sonde::trace {

struct Decimal {
  std::uint64_t digits = 0;  // up to 19 significant digits
  int exponent = 0;          // value = digits * 10^exponent
  bool negative = false;
  bool integer = true;  // written without point and exponent
  bool sticky = false;  // non-zero digits beyond the nineteenth were dropped
};

// Reads a number at p; returns the first byte after it, or nullptr when there is no number.
inline const char* read_decimal(const char* p, Decimal* out) {
  Decimal d;
  if (*p == '-') {
    d.negative = true;
    ++p;
  } else if (*p == '+') {
    ++p;
  }
  int seen = 0;  // significant digits kept
  const char* start = p;
  while (static_cast<unsigned char>(*p - '0') < 10) {
    if (seen < 19) {
      d.digits = d.digits * 10 + static_cast<unsigned char>(*p - '0');
      seen += d.digits != 0;
    } else {
      ++d.exponent;
      d.sticky |= *p != '0';
    }
    ++p;
  }
  bool any = p != start;
  if (*p == '.') {
    d.integer = false;
    ++p;
    while (static_cast<unsigned char>(*p - '0') < 10) {
      any = true;
      if (seen < 19) {
        d.digits = d.digits * 10 + static_cast<unsigned char>(*p - '0');
        seen += d.digits != 0;
        if (d.exponent > -100000) --d.exponent;
      } else {
        d.sticky |= *p != '0';
      }
      ++p;
    }
  }
  if (!any) return nullptr;
  if (*p == 'e' || *p == 'E') {
    const char* q = p + 1;
    bool minus = false;
    if (*q == '-' || *q == '+') minus = *q++ == '-';
    if (static_cast<unsigned char>(*q - '0') < 10) {
      d.integer = false;
      int power = 0;
      while (static_cast<unsigned char>(*q - '0') < 10) {
        if (power < 100000) power = power * 10 + (*q - '0');
        ++q;
      }
      d.exponent += minus ? -power : power;
      p = q;
    }
  }
  *out = d;
  return p;
}

// A plain integer of at most 18 digits, the common case; nullptr for everything else.
inline const char* read_integer(const char* p, std::int64_t* out) {
  const bool negative = *p == '-';
  p += negative;
  const char* start = p;
  std::int64_t value = 0;
  while (static_cast<unsigned char>(*p - '0') < 10 && p - start < 18) value = value * 10 + (*p++ - '0');
  if (p == start || *p == '.' || *p == 'e' || *p == 'E' || static_cast<unsigned char>(*p - '0') < 10) {
    return nullptr;
  }
  *out = negative ? -value : value;
  return p;
}

// Microseconds as Kineto writes them, at most 16 digits and three decimals, as nanoseconds; the common
// case. nullptr for everything else: longer numbers, signs, exponents.
inline const char* read_microseconds(const char* p, std::int64_t* out_ns) {
  const char* start = p;
  std::uint64_t value = 0;
  while (static_cast<unsigned char>(*p - '0') < 10 && p - start < 17) {
    value = value * 10 + static_cast<unsigned char>(*p++ - '0');
  }
  if (p == start || p - start > 16) return nullptr;
  value *= 1000;
  if (*p == '.') {
    ++p;
    std::uint64_t unit = 100;
    for (; static_cast<unsigned char>(*p - '0') < 10; ++p, unit /= 10) {
      value += unit * static_cast<unsigned char>(*p - '0');
      if (unit == 0) return nullptr;  // a fourth decimal: to be rounded
    }
    if (unit == 100) return nullptr;  // no decimal at all
  }
  if (*p == 'e' || *p == 'E') return nullptr;
  *out_ns = static_cast<std::int64_t>(value);
  return p;
}

// The value times 10^shift as an integer, rounded to nearest (ties away from zero).
// False when it does not fit in 64 bits.
inline bool scaled(const Decimal& d, int shift, std::int64_t* out) {
  int power = d.exponent + shift;
  Wide value = d.digits;
  if (value != 0 && power > 0) {
    if (power > 19) return false;
    for (; power > 0; --power) value *= 10;
  } else if (power < 0) {
    if (power < -19) {
      value = 0;
    } else {
      Wide divisor = 1;
      for (int i = 0; i < -power; ++i) divisor *= 10;
      const Wide rest = value % divisor;
      value /= divisor;
      if (rest * 2 >= divisor) ++value;
    }
  }
  if (value > static_cast<Wide>(INT64_MAX)) return false;
  const auto magnitude = static_cast<std::int64_t>(value);
  *out = d.negative ? -magnitude : magnitude;
  return true;
}

}  // namespace sonde::trace
