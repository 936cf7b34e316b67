// Reading side of EventParser: the JSON of one event into an Event and its arguments.

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "trace/categories.h"
#include "trace/decimal.h"
#include "trace/events.h"
#include "trace/scan.h"

namespace sonde::trace {
namespace {

// Keys of an event, as bits for the duplicate check.
enum Field : std::uint32_t {
  kPhase = 1,
  kCategory = 2,
  kName = 4,
  kPid = 8,
  kTid = 16,
  kTime = 32,
  kDuration = 64,
  kArgs = 128,
  kId = 256,
  kUnknown = 0
};

Field field_of(std::string_view key) {
  switch (key.size()) {
    case 2:
      if (key == "ph") return kPhase;
      if (key == "ts") return kTime;
      if (key == "id") return kId;
      return kUnknown;
    case 3:
      if (key == "cat") return kCategory;
      if (key == "pid") return kPid;
      if (key == "tid") return kTid;
      if (key == "dur") return kDuration;
      return kUnknown;
    case 4:
      if (key == "name") return kName;
      if (key == "args") return kArgs;
      return kUnknown;
    default: return kUnknown;
  }
}

// The field whose key stands at p, written as Kineto writes it (`"ts":`), and the length of that.
// Eight bytes are compared at once; kUnknown means: look closer.
Field quick_field(const char* p, std::size_t* length) {
  std::uint64_t word;
  std::memcpy(&word, p, 8);
  const auto is = [word](const char (&key)[9], int bytes) {
    std::uint64_t wanted;
    std::memcpy(&wanted, key, 8);
    return ((word ^ wanted) << (64 - 8 * bytes)) == 0;
  };
  static_assert(std::endian::native == std::endian::little);
  *length = 5;
  if (is("\"ph\":___", 5)) return kPhase;
  if (is("\"ts\":___", 5)) return kTime;
  if (is("\"id\":___", 5)) return kId;
  *length = 6;
  if (is("\"cat\":__", 6)) return kCategory;
  if (is("\"pid\":__", 6)) return kPid;
  if (is("\"tid\":__", 6)) return kTid;
  if (is("\"dur\":__", 6)) return kDuration;
  *length = 7;
  if (is("\"name\":_", 7)) return kName;
  if (is("\"args\":_", 7)) return kArgs;
  return kUnknown;
}

bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
bool starts_number(const char* p) { return is_digit(*p) || (*p == '-' && (is_digit(p[1]) || p[1] == '.')); }
bool ends_value(char c) { return c == ',' || c == '}' || c == ']' || is_space(c); }

// Times at or above this, read as microseconds, would lie beyond the year 5000: they are
// nanoseconds since the epoch (development builds of early 2024 wrote them).
constexpr std::int64_t kNanosecondsFrom = 100'000'000'000'000'000;

}  // namespace

Status EventParser::fields(const char*& p, Event* event) {
  ++p;
  for (;;) {
    p = skip_space(p);
    if (*p == '}') {
      ++p;
      return Status::kOk;
    }
    if (*p != '"') return json.short_of(p);
    bool escaped = false;
    Status status = Status::kOk;
    std::size_t length = 0;
    Field field = quick_field(p, &length);
    if (field != kUnknown) {
      p = skip_space(p + length);
    } else {
      std::string_view key;
      status = json.string(p, &key, &escaped, true);
      if (status != Status::kOk) return status;
      p = skip_space(p);
      if (*p != ':') return json.short_of(p);
      p = skip_space(p + 1);
      field = field_of(key);
    }
    if ((event->fields & field) != 0) event->marks |= kDuplicateMark;
    event->fields |= field;
    switch (field) {
      case kPhase: {
        std::string_view raw;
        if (*p != '"') return json.short_of(p);
        status = json.string(p, &raw, &escaped);
        event->phase = raw.size() == 1 ? raw[0] : '?';
        break;
      }
      case kCategory: status = text(p, &event->category, event); break;
      case kName: status = text(p, &event->name, event); break;
      case kPid: status = identity(p, &event->pid, event); break;
      case kTid: status = identity(p, &event->tid, event); break;
      case kId: status = identity(p, &event->id, event); break;
      case kTime:
        status = time(p, &event->start_ns, &event->has_start, &event->start_in_ns, event);
        break;
      case kDuration: {
        bool in_ns = false;
        status = time(p, &event->duration_ns, &event->has_duration, &in_ns, event);
        break;
      }
      case kArgs:
        if (*p == '{') {
          args_.clear();
          status = arguments(p, event);
        } else {
          status = json.skip(p);
        }
        break;
      case kUnknown: status = json.skip(p); break;
    }
    if (status != Status::kOk) return status;
    p = skip_space(p);
    if (*p == ',') {
      ++p;
    } else if (*p != '}') {
      return json.short_of(p);
    }
  }
}

Status EventParser::text(const char*& p, std::int32_t* code, Event* event) {
  if (*p != '"') {  // a number or null for a name: keep its text
    const char* start = p;
    const Status status = json.skip(p);
    if (status != Status::kOk) return status;
    *code = trace_.strings.intern({start, static_cast<std::size_t>(p - start)});
    return Status::kOk;
  }
  static_cast<void>(event);
  std::string_view raw;
  bool escaped = false;
  const Status status = json.string(p, &raw, &escaped);
  if (status != Status::kOk) return status;
  std::uint8_t flags = 0;
  if (escaped) raw = json.decode(raw, &flags, &scratch_);
  *code = trace_.strings.intern(raw, flags);
  return Status::kOk;
}

// A process, thread or flow id: an integer, a string that holds one, or any other word.
Status EventParser::identity(const char*& p, std::int64_t* out, Event* event) {
  if (const char* end = read_integer(p, out); end != nullptr && ends_value(*end)) {
    p = end;
    return Status::kOk;
  }
  if (starts_number(p)) {
    Decimal d;
    const char* after = read_decimal(p, &d);
    if (after == nullptr) return json.short_of(p);
    if (!ends_value(*after)) return json.short_of(after);
    if (!scaled(d, 0, out)) *out = static_cast<std::int64_t>(d.digits);
    p = after;
    return Status::kOk;
  }
  std::int32_t code = -1;
  const Status status = text(p, &code, event);
  if (status != Status::kOk) return status;
  const std::string_view word = trace_.strings.get(code);
  std::int64_t number = 0;
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == word.data() + word.size();
  *out = whole ? number : kWordId + code;
  return Status::kOk;
}

Status EventParser::time(const char*& p, std::int64_t* out_ns, bool* given, bool* in_ns, Event* event) {
  Decimal d;
  *given = false;
  if (const char* end = read_microseconds(p, out_ns); end != nullptr && ends_value(*end)) {
    p = end;
    *given = true;
    return Status::kOk;
  }
  if (*p == '"') {
    std::string_view raw;
    bool escaped = false;
    const Status status = json.string(p, &raw, &escaped);
    if (status != Status::kOk) return status;
    // The closing quote ends the number, so reading it in place is safe.
    if (raw.empty() || !starts_number(raw.data())) return Status::kOk;
    const char* after = read_decimal(raw.data(), &d);
    if (after != raw.data() + raw.size()) return Status::kOk;
    event->marks |= kNumberAsStringMark;
  } else if (starts_number(p)) {
    const char* after = read_decimal(p, &d);
    if (after == nullptr) return json.short_of(p);
    if (!ends_value(*after)) return json.short_of(after);
    p = after;
  } else {
    Arg unused{};
    return *p == '[' || *p == '{' ? json.skip(p) : word(p, event, &unused);
  }
  std::int64_t whole = 0;
  if (scaled(d, 0, &whole) && (whole >= kNanosecondsFrom || whole <= -kNanosecondsFrom)) {
    *in_ns = true;
    *out_ns = whole;
    *given = true;
  } else {
    *given = scaled(d, 3, out_ns);
  }
  return Status::kOk;
}

// A bare word: true, false, null, and the nan and inf that printf writes.
Status EventParser::word(const char*& p, Event* event, Arg* arg) {
  const char* at = p;
  while (!ends_value(*at) && *at != '\0' && *at != '"') ++at;
  if (!ends_value(*at)) return json.short_of(at);
  const std::string_view found(p, static_cast<std::size_t>(at - p));
  arg->type = ArgType::kWord;
  if (found == "false") {
    arg->value = 0;
  } else if (found == "true") {
    arg->value = 1;
  } else if (found == "null" || found == "None") {
    arg->value = 2;
  } else {
    std::string_view unsigned_word = found;
    if (!unsigned_word.empty() && (unsigned_word[0] == '-' || unsigned_word[0] == '+')) {
      unsigned_word.remove_prefix(1);
    }
    double value;
    if (unsigned_word == "nan" || unsigned_word == "NaN" || unsigned_word == "-nan") {
      value = NAN;
    } else if (unsigned_word == "inf" || unsigned_word == "Infinity" || unsigned_word == "Inf") {
      value = found[0] == '-' ? -INFINITY : INFINITY;
    } else {
      return Status::kBad;
    }
    event->marks |= kNotANumberMark;
    arg->type = ArgType::kReal;
    std::memcpy(&arg->value, &value, sizeof value);
  }
  p = at;
  return Status::kOk;
}

Status EventParser::arguments(const char*& p, Event* event) {
  ++p;
  std::size_t previous = 0;  // slot 0 of key_after_ is "start of the arguments"
  for (;;) {
    p = skip_space(p);
    if (*p == '}') {
      ++p;
      return Status::kOk;
    }
    if (*p != '"') return json.short_of(p);
    std::size_t code = kMaxKeys;
    if (previous < key_after_.size() && key_after_[previous] < trace_.keys.size()) {
      const std::string_view guess = trace_.keys.get(key_after_[previous]);
      const char* after = p + 1 + guess.size();
      if (static_cast<std::size_t>(guess.size()) + 2 < kPadding &&
          std::string_view(p + 1, guess.size()) == guess && *after == '"' && after[1] == ':') {
        code = key_after_[previous];
        p = after + 1;
      }
    }
    if (code == kMaxKeys) {
      std::string_view key;
      bool escaped = false;
      const Status status = json.string(p, &key, &escaped, true);
      if (status != Status::kOk) return status;
      std::uint8_t flags = 0;
      if (escaped) key = json.decode(key, &flags, &scratch_);
      const std::size_t before = trace_.keys.size();
      const std::int32_t found = before < kMaxKeys ? trace_.keys.intern(key, flags) : trace_.keys.find(key);
      if (found >= 0) {
        code = static_cast<std::size_t>(found);
        if (trace_.keys.size() != before) key_ignored_.push_back(is_ignored_argument(key) ? 1 : 0);
        if (key_after_.size() <= previous) key_after_.resize(previous + 1, UINT16_MAX);
        key_after_[previous] = static_cast<std::uint16_t>(code);
      }
      p = skip_space(p);
    }
    if (*p != ':') return json.short_of(p);
    p = skip_space(p + 1);
    const bool known = code < kMaxKeys;
    if (!known) event->marks |= kTooManyKeysMark;
    const bool wanted = known && key_ignored_[code] == 0;
    const Status status = argument(p, static_cast<std::uint16_t>(code), wanted, event);
    if (status != Status::kOk) return status;
    previous = known ? code + 1 : 0;
    p = skip_space(p);
    if (*p == ',') {
      ++p;
    } else if (*p != '}') {
      return json.short_of(p);
    }
  }
}

Status EventParser::argument(const char*& p, std::uint16_t key, bool keep, Event* event) {
  if (!keep) return json.skip(p);
  Arg arg{0, key, ArgType::kInteger};
  if (const char* end = read_integer(p, &arg.value); end != nullptr && ends_value(*end)) {
    p = end;
  } else if (*p == '"') {
    std::int32_t code = -1;
    const Status status = text(p, &code, event);
    if (status != Status::kOk) return status;
    arg.type = ArgType::kString;
    arg.value = code;
  } else if (*p == '[' || *p == '{') {
    const char* start = p;
    const Status status = json.skip(p);
    if (status != Status::kOk) return status;
    std::string_view raw(start, static_cast<std::size_t>(p - start));
    if (raw.find('\n') != std::string_view::npos) raw = json.compact(raw, &scratch_);
    arg.type = ArgType::kJson;
    arg.value = trace_.strings.intern(raw, Strings::kDecoded);
  } else if (starts_number(p)) {
    Decimal d;
    const char* after = read_decimal(p, &d);
    if (after == nullptr) return json.short_of(p);
    if (!ends_value(*after)) return json.short_of(after);
    if (!d.integer || (!d.negative && !scaled(d, 0, &arg.value) && d.exponent > 0)) {
      double real = 0;
      std::from_chars(p + (*p == '+'), after, real);
      arg.type = ArgType::kReal;
      std::memcpy(&arg.value, &real, sizeof real);
    } else if (!scaled(d, 0, &arg.value)) {
      arg.type = ArgType::kUnsigned;
      arg.value = static_cast<std::int64_t>(d.digits);
    }
    p = after;
  } else {
    const Status status = word(p, event, &arg);
    if (status != Status::kOk) return status;
  }
  args_.push_back(arg);
  return Status::kOk;
}

}  // namespace sonde::trace
