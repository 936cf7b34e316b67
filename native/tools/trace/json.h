// Pieces of JSON text in a window of the input: strings, values to pass over, escapes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/trace.h"

namespace sonde::trace {

enum class Status {
  kOk,
  kMore,  // the buffer ends inside: read on and try again from the start
  kBad,   // this is not JSON
};

// Pieces of JSON text. In lenient mode a quote ends a string only where JSON could go on after it,
// which repairs strings with unescaped quotes in them.
class Json {
 public:
  Json(const Limits& limits) : limits_(limits) {}

  void window(const char* end, bool is_last) {
    end_ = end;
    is_last_ = is_last;
  }
  void lenient(bool on) { lenient_ = on; }
  std::uint64_t lenient_work() const { return lenient_work_; }

  // p at the opening quote; afterwards behind the closing one. `raw` is what stands between.
  Status string(const char*& p, std::string_view* raw, bool* escaped, bool is_key = false);
  // p at any value; afterwards behind it.
  Status skip(const char*& p);
  // Decodes escapes into `scratch`; flags tell of raw control characters and of escapes that are none.
  std::string_view decode(std::string_view raw, std::uint8_t* flags, std::string* scratch) const;
  // White space outside strings removed, into `scratch`.
  std::string_view compact(std::string_view raw, std::string* scratch) const;

  Status short_of(const char* p) const { return p >= end_ ? Status::kMore : Status::kBad; }

 private:
  Status lenient_string(const char*& p, std::string_view* raw, bool is_key);
  bool closes_string(const char* p, bool is_key, bool* undecided) const;

  const Limits& limits_;
  const char* end_ = nullptr;
  bool is_last_ = false;
  bool lenient_ = false;
  std::uint64_t lenient_work_ = 0;
};

}  // namespace sonde::trace
