#include "trace/document.h"

#include <algorithm>
#include <cstring>

namespace sonde::trace {
namespace {

constexpr std::string_view kEventsKey = "traceEvents";
constexpr std::uint64_t kLenientGrace = 16ULL << 20;  // bytes of repair work allowed to any file
constexpr std::uint64_t kLenientShare = 8;            // and per byte of input beyond that

// Whether p, at '{', may be the start of an event: its first key is one that events have.
bool looks_like_event(const char* p, const char* end) {
  p = skip_space(p + 1);
  if (p >= end || *p != '"') return false;
  for (const std::string_view key : {"ph\"", "name\"", "cat\"", "pid\"", "tid\"", "ts\"", "args\"", "id\""}) {
    if (static_cast<std::size_t>(end - p) > key.size() && std::memcmp(p + 1, key.data(), key.size()) == 0) {
      return true;
    }
  }
  return false;
}

std::string printable(const char* p, const char* end) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string shown;
  for (; p < end && shown.size() < 24; ++p) {
    const auto c = static_cast<unsigned char>(*p);
    if (c >= 0x20 && c < 0x7f) {
      shown.push_back(*p);
    } else {
      shown += {'\\', 'x', kHex[c >> 4], kHex[c & 15]};
    }
  }
  return shown;
}

}  // namespace

DocumentReader::DocumentReader(Source* source, Trace* trace, const Limits& limits)
    : source_(*source), trace_(*trace), limits_(limits), parser_(trace, limits), p_(source->begin()) {
  parser_.json.window(source_.end(), source_.at_end());
}

// The next byte that is no white space, 0 at the end of the file.
char DocumentReader::peek() {
  for (;;) {
    p_ = skip_space(p_);
    if (p_ < source_.end()) return *p_;
    const bool more = source_.advance(p_, limits_.value_bytes);
    p_ = source_.begin();
    parser_.json.window(source_.end(), source_.at_end());
    if (!more) return '\0';
  }
}

void DocumentReader::read() {
  if (source_.end() - p_ >= 3 && std::memcmp(p_, "\xEF\xBB\xBF", 3) == 0) p_ += 3;
  if (peek() == '\0' && p_ >= source_.end()) throw InputFailure("it is empty");
  for (;;) {
    const char c = peek();
    if (p_ >= source_.end()) break;
    if (c != '{' && c != '[') {
      if (trace_.documents == 0) {
        throw InputFailure("it starts with '" + printable(p_, source_.end()) + "', which is no JSON");
      }
      const std::uint64_t from = here();
      while (p_ < source_.end()) {
        p_ = source_.end();
        peek();
      }
      trace_.losses.add(Loss::kTrailingGarbage, from, here() - from);
      break;
    }
    if (trace_.documents > 0) trace_.losses.add(Loss::kConcatenatedDocument, here());
    if (c == '{') {
      object();
    } else {
      trace_.has_events = true;
      events();
    }
    ++trace_.documents;
  }
  parser_.finish();
  switch (source_.inflate_failure()) {
    case Inflater::Failure::kNone: break;
    case Inflater::Failure::kTruncated: trace_.losses.add(Loss::kGzipTruncated, here()); break;
    case Inflater::Failure::kCorrupt: trace_.losses.add(Loss::kGzipCorrupt, here()); break;
    case Inflater::Failure::kChecksum: trace_.losses.add(Loss::kGzipChecksum, here()); break;
    case Inflater::Failure::kTrailingGarbage: trace_.losses.add(Loss::kGzipTrailingGarbage, here()); break;
  }
  trace_.plain_bytes = source_.plain_bytes();
  trace_.file_bytes = source_.file_bytes();
  trace_.compressed = source_.compressed();
}

Status DocumentReader::key_and_value(const char* p, std::string_view* key, const char** value,
                                     const char** after) {
  bool escaped = false;
  Json& json = parser_.json;
  Status status = json.string(p, key, &escaped, true);
  if (status != Status::kOk) return status;
  p = skip_space(p);
  if (*p != ':') return json.short_of(p);
  p = skip_space(p + 1);
  if (p >= source_.end()) return Status::kMore;
  *value = p;
  *after = nullptr;
  if (*key == kEventsKey && *p == '[') return Status::kOk;
  status = json.skip(p);
  if (status != Status::kOk) return status;
  *after = p;
  const char* next = skip_space(p);
  if (next < source_.end() && *next != ',' && *next != '}') return Status::kBad;
  return Status::kOk;
}

void DocumentReader::object() {
  ++p_;
  bool lenient = false;
  for (;;) {
    const char c = peek();
    if (p_ >= source_.end()) return unclosed();
    if (c == '}') {
      ++p_;
      return;
    }
    if (c == ',') {
      ++p_;
      continue;
    }
    std::string_view key;
    const char* value = nullptr;
    const char* after = nullptr;
    Status status = Status::kBad;
    if (c == '"') {
      parser_.json.lenient(lenient);
      status = key_and_value(p_, &key, &value, &after);
      parser_.json.lenient(false);
    }
    if (status == Status::kMore) {
      const bool more = source_.advance(p_, limits_.value_bytes);
      p_ = source_.begin();
      parser_.json.window(source_.end(), source_.at_end());
      if (more) continue;
      p_ = source_.end();
      return unclosed();
    }
    if (status == Status::kBad) {
      if (!lenient && c == '"') {
        lenient = true;
        continue;
      }
      lenient = false;
      trace_.losses.add(Loss::kBadMetadata, here());
      if (!resync_object()) return unclosed();
      continue;
    }
    if (lenient) trace_.losses.add(Loss::kRepairedEvent, here());
    if (after == nullptr) {
      p_ = value;
      trace_.has_events = true;
      events();
    } else {
      Metadata entry;
      entry.is_string = *value == '"';
      std::uint8_t flags = 0;
      const auto length = static_cast<std::size_t>(after - value);
      const std::string_view raw = entry.is_string ? std::string_view(value + 1, length - 2)
                                                   : std::string_view(value, length);
      entry.value = entry.is_string ? parser_.json.decode(raw, &flags, &key_) : raw;
      entry.key = parser_.json.decode(key, &flags, &key_);
      entry.document = trace_.documents;
      const bool is_twice = trace_.metadata.size() < 1000 &&
                            std::any_of(trace_.metadata.begin(), trace_.metadata.end(), [&](const Metadata& m) {
                              return m.document == entry.document && m.key == entry.key;
                            });
      if (is_twice) trace_.losses.add(Loss::kDuplicateKey, here());
      trace_.metadata_bytes += entry.key.size() + entry.value.size();
      if (trace_.metadata_bytes > limits_.metadata_bytes || trace_.metadata.size() >= limits_.metadata_entries) {
        trace_.losses.add(Loss::kDroppedMetadata, here());
      } else {
        trace_.metadata.push_back(std::move(entry));
      }
      p_ = after;
    }
    lenient = false;
  }
}

void DocumentReader::unclosed() {
  const auto i = static_cast<std::size_t>(Loss::kUnclosedDocument);
  if (trace_.losses.count[i] == 0) trace_.losses.add(Loss::kUnclosedDocument, here());
}

// Forward to the "traceEvents" key; false when the file has none left.
bool DocumentReader::resync_object() {
  const std::uint64_t from = here();
  ++p_;
  for (;;) {
    const auto left = static_cast<std::size_t>(source_.end() - p_);
    const auto* found = static_cast<const char*>(
        ::memmem(p_, left, "\"traceEvents\"", kEventsKey.size() + 2));
    if (found != nullptr) {
      p_ = found;
      trace_.losses.add(Loss::kSkippedBytes, from, here() - from);
      return true;
    }
    p_ = source_.end() - std::min(left, kEventsKey.size() + 2);
    const bool more = source_.advance(p_, limits_.value_bytes);
    p_ = source_.begin();
    parser_.json.window(source_.end(), source_.at_end());
    if (!more) {
      p_ = source_.end();
      trace_.losses.add(Loss::kSkippedBytes, from, here() - from);
      return false;
    }
  }
}

void DocumentReader::events() {
  ++p_;
  bool comma = false;
  for (;;) {
    const char c = peek();
    if (p_ >= source_.end()) return unclosed();
    if (c == '{') {
      comma = false;
      event();
    } else if (c == ',') {
      if (comma) trace_.losses.add(Loss::kTrailingComma, here());
      comma = true;
      ++p_;
    } else if (c == ']') {
      if (comma) trace_.losses.add(Loss::kTrailingComma, here());
      ++p_;
      return;
    } else {
      comma = false;
      other_value();
    }
  }
}

// Parses at p_, reading on as needed. False when the file ends inside.
bool DocumentReader::event_with(bool lenient, Status* status) {
  for (;;) {
    const char* at = p_;
    parser_.json.lenient(lenient);
    *status = parser_.parse(at, here());
    parser_.json.lenient(false);
    if (*status == Status::kOk) p_ = at;
    if (*status != Status::kMore) return true;
    const bool more = source_.advance(p_, limits_.value_bytes);
    p_ = source_.begin();
    parser_.json.window(source_.end(), source_.at_end());
    if (!more) return false;
  }
}

void DocumentReader::event() {
  Status status;
  const std::uint64_t position = here();
  if (!event_with(false, &status)) {
    trace_.losses.add(Loss::kTruncatedEvent, position);
    p_ = source_.end();
    return;
  }
  if (status == Status::kOk) {
    in_bad_run_ = false;
    return;
  }
  if (parser_.json.lenient_work() < kLenientGrace + kLenientShare * position &&
      event_with(true, &status) && status == Status::kOk) {
    if (!in_bad_run_) trace_.losses.add(Loss::kRepairedEvent, position);
    in_bad_run_ = false;
    return;
  }
  if (!in_bad_run_) trace_.losses.add(Loss::kBadEvent, position);
  in_bad_run_ = true;
  resync_events();
}

// Something among the events that is no object: passed over as a whole when it is JSON.
void DocumentReader::other_value() {
  for (;;) {
    const char* at = p_;
    const Status status = parser_.json.skip(at);
    if (status == Status::kMore) {
      const bool more = source_.advance(p_, limits_.value_bytes);
      p_ = source_.begin();
      parser_.json.window(source_.end(), source_.at_end());
      if (more) continue;
      trace_.losses.add(Loss::kTruncatedEvent, here());
      p_ = source_.end();
      return;
    }
    if (!in_bad_run_) trace_.losses.add(Loss::kNotAnEvent, here());
    if (status == Status::kOk) {
      p_ = at;
    } else {
      in_bad_run_ = true;
      resync_events();
    }
    return;
  }
}

// Forward to the next place where an event may start.
void DocumentReader::resync_events() {
  const std::uint64_t from = here();
  ++p_;
  for (;;) {
    const char* end = source_.end();
    while (p_ < end) {
      const auto* found = static_cast<const char*>(std::memchr(p_, '{', static_cast<std::size_t>(end - p_)));
      if (found == nullptr) {
        p_ = end;
        break;
      }
      p_ = found;
      if (end - p_ < 4096 && !source_.at_end()) break;  // look at it with more behind it
      if (looks_like_event(p_, end)) {
        trace_.losses.add(Loss::kSkippedBytes, from, here() - from);
        return;
      }
      ++p_;
    }
    const bool more = source_.advance(p_, limits_.value_bytes);
    p_ = source_.begin();
    parser_.json.window(source_.end(), source_.at_end());
    if (!more && p_ >= source_.end()) {
      trace_.losses.add(Loss::kSkippedBytes, from, here() - from);
      return;
    }
  }
}

}  // namespace sonde::trace
