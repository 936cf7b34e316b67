#include "trace/json.h"

#include <cstring>

#include "trace/scan.h"
#include "trace/source.h"

namespace sonde::trace {
namespace {

constexpr std::size_t kLenientString = 16 * 1024;  // a broken string longer than this is given up
constexpr std::size_t kLenientKey = 96;            // how far to look for the key after a comma

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Four hex digits at p, or -1.
int hex4(const char* p, const char* end) {
  if (end - p < 4) return -1;
  int value = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex(p[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

void append_utf8(std::string* out, std::uint32_t point) {
  if (point < 0x80) {
    out->push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out->push_back(static_cast<char>(0xC0 | point >> 6));
    out->push_back(static_cast<char>(0x80 | (point & 0x3F)));
  } else if (point < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | point >> 12));
    out->push_back(static_cast<char>(0x80 | ((point >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (point & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | point >> 18));
    out->push_back(static_cast<char>(0x80 | ((point >> 12) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | ((point >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (point & 0x3F)));
  }
}

}  // namespace

Status Json::string(const char*& p, std::string_view* raw, bool* escaped, bool is_key) {
  *escaped = false;
  if (lenient_) {
    const Status status = lenient_string(p, raw, is_key);
    *escaped = raw->find('\\') != std::string_view::npos;
    return status;
  }
  const char* start = p + 1;
  const char* at = start;
  for (;;) {
    at = find_quote(at, end_);
    if (at >= end_) return Status::kMore;
    if (*at == '"') break;
    *escaped = true;
    at += 2;
    if (at > end_) return Status::kMore;
  }
  *raw = {start, static_cast<std::size_t>(at - start)};
  p = at + 1;
  return Status::kOk;
}

Status Json::lenient_string(const char*& p, std::string_view* raw, bool is_key) {
  const char* start = p + 1;
  const char* at = start;
  for (;;) {
    const char* found = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end_ - at)));
    if (found == nullptr) {
      return static_cast<std::size_t>(end_ - start) > kLenientString ? Status::kBad : Status::kMore;
    }
    if (static_cast<std::size_t>(found - start) > kLenientString) return Status::kBad;
    lenient_work_ += static_cast<std::uint64_t>(found - at) + 16;
    bool undecided = false;
    if (closes_string(found + 1, is_key, &undecided)) {
      *raw = {start, static_cast<std::size_t>(found - start)};
      p = found + 1;
      return Status::kOk;
    }
    if (undecided && !is_last_) return Status::kMore;
    at = found + 1;
  }
}

// Whether JSON can go on at p after a string: `:` after a key; else `,` and the next key or value,
// or a closing bracket that is itself followed by what may follow one.
bool Json::closes_string(const char* p, bool is_key, bool* undecided) const {
  const char* at = skip_space(p);
  if (at >= end_) return *undecided = true, is_last_;
  if (is_key) return *at == ':';
  if (*at == '}' || *at == ']') {
    at = skip_space(at + 1);
    if (at >= end_) return *undecided = true, is_last_;
    return *at == ',' || *at == '}' || *at == ']' || *at == '{';
  }
  if (*at != ',') return false;
  at = skip_space(at + 1);
  if (at >= end_) return *undecided = true, is_last_;
  if (*at != '"') return false;
  const char* limit = end_ - at > static_cast<std::ptrdiff_t>(kLenientKey) ? at + kLenientKey : end_;
  for (const char* q = at + 1; q < limit; ++q) {
    if (*q == '\n') return false;
    if (*q != '"') continue;
    q = skip_space(q + 1);
    if (q >= end_) return *undecided = true, is_last_;
    return *q == ':' || *q == ',' || *q == ']';
  }
  if (limit == end_) *undecided = true;
  return false;
}

Status Json::skip(const char*& p) {
  std::string_view raw;
  bool escaped = false;
  if (*p == '"') return string(p, &raw, &escaped);
  if (*p != '[' && *p != '{') {
    const char* at = p;
    while (at < end_ && *at != ',' && *at != '}' && *at != ']' && !is_space(*at)) {
      if (*at == '"' || *at == '{' || *at == '[' || *at == ':') return Status::kBad;
      ++at;
    }
    if (at >= end_) return Status::kMore;
    if (at == p) return Status::kBad;
    p = at;
    return Status::kOk;
  }
  std::uint64_t kinds[4] = {};  // one bit per level: set for an object
  int depth = 0;
  const char* at = p;
  for (;;) {
    const char c = *at;
    if (c == '"') {
      const Status status = string(at, &raw, &escaped);
      if (status != Status::kOk) return status;
      // A quote too many turns inside out all that follows: see it here, not megabytes later.
      const char* next = skip_space(at);
      if (next >= end_) return Status::kMore;
      if (*next != ',' && *next != ']' && *next != '}' && *next != ':') return Status::kBad;
      at = next;
    } else if (c == '[' || c == '{') {
      if (depth >= limits_.depth || depth >= 256) {
        throw InputFailure("brackets nest deeper than " + std::to_string(limits_.depth));
      }
      const std::uint64_t bit = 1ULL << (depth & 63);
      kinds[depth >> 6] = c == '{' ? kinds[depth >> 6] | bit : kinds[depth >> 6] & ~bit;
      ++depth;
      ++at;
    } else if (c == ']' || c == '}') {
      --depth;
      const bool is_object = ((kinds[depth >> 6] >> (depth & 63)) & 1) != 0;
      if (is_object != (c == '}')) return Status::kBad;
      ++at;
      if (depth == 0) {
        p = at;
        return Status::kOk;
      }
    } else if (c == '\0') {
      return short_of(at);
    } else {
      ++at;
    }
  }
}

std::string_view Json::decode(std::string_view raw, std::uint8_t* flags, std::string* scratch) const {
  scratch->clear();
  *flags |= Strings::kDecoded;
  const char* p = raw.data();
  const char* end = p + raw.size();
  while (p < end) {
    if (*p != '\\') {
      if (static_cast<unsigned char>(*p) < 0x20) *flags |= Strings::kControl;
      scratch->push_back(*p++);
      continue;
    }
    const char c = p + 1 < end ? p[1] : '\0';
    static constexpr std::string_view kFrom = "\"\\/bfnrt";
    static constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    const std::size_t simple = c == '\0' ? std::string_view::npos : kFrom.find(c);
    if (simple != std::string_view::npos) {
      scratch->push_back(kTo[simple]);
      p += 2;
      continue;
    }
    const int point = c == 'u' ? hex4(p + 2, end) : -1;
    if (point < 0) {
      *flags |= Strings::kBadEscape;
      scratch->push_back(*p++);
      continue;
    }
    p += 6;
    auto value = static_cast<std::uint32_t>(point);
    if (value >= 0xD800 && value < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
      const int low = hex4(p + 2, end);
      if (low >= 0xDC00 && low < 0xE000) {
        value = 0x10000 + ((value - 0xD800) << 10) + (static_cast<std::uint32_t>(low) - 0xDC00);
        p += 6;
      }
    }
    if (value >= 0xD800 && value < 0xE000) value = 0xFFFD;  // half a surrogate pair
    append_utf8(scratch, value);
  }
  return *scratch;
}

std::string_view Json::compact(std::string_view raw, std::string* scratch) const {
  scratch->clear();
  bool in_string = false;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const char c = raw[i];
    if (in_string) {
      scratch->push_back(c);
      if (c == '\\' && i + 1 < raw.size()) scratch->push_back(raw[++i]);
      else if (c == '"') in_string = false;
    } else if (!is_space(c)) {
      scratch->push_back(c);
      in_string = c == '"';
    }
  }
  return *scratch;
}

}  // namespace sonde::trace
