// The C interface of the trace reader, called from Python through ctypes.
// Pointers that are handed out stay valid until sonde_trace_free or the next call that adds strings
// (fill and compose), which is why Python takes the strings last.

#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>

#include "trace/document.h"
#include "trace/nest.h"
#include "trace/tree.h"

#define SONDE_EXPORT extern "C" __attribute__((visibility("default")))

namespace sonde::trace {
namespace {

enum Result { kRead = 0, kInputFailure = 1, kInternalFailure = 2 };

template <typename MakeSource>
int read_with(MakeSource make_source, const std::uint64_t* limits_given, Trace** out, char* error,
              std::size_t error_size) {
  try {
    Limits limits;
    if (limits_given != nullptr) {
      limits.value_bytes = limits_given[0];
      limits.metadata_bytes = limits_given[1];
      limits.metadata_entries = limits_given[2];
      limits.inflate_ratio = limits_given[3];
    }
    std::random_device random;
    auto trace = std::make_unique<Trace>(static_cast<std::uint64_t>(random()) << 32 | random());
    const std::unique_ptr<Source> source = make_source(limits.inflate_ratio);
    DocumentReader(source.get(), trace.get(), limits).read();
    *out = trace.release();
    return kRead;
  } catch (const InputFailure& failure) {
    std::snprintf(error, error_size, "%s", failure.what());
    return kInputFailure;
  } catch (const std::exception& failure) {
    std::snprintf(error, error_size, "%s", failure.what());
    return kInternalFailure;
  }
}

void append_json_string(std::string* out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (u < 0x20) {
      *out += "\\u00";
      out->push_back(kHex[u >> 4]);
      out->push_back(kHex[u & 15]);
    } else {
      out->push_back(c);
    }
  }
  out->push_back('"');
}

void append_number(std::string* out, ArgType type, std::int64_t value) {
  char text[40];
  char* end = text;
  if (type == ArgType::kReal) {
    double real;
    std::memcpy(&real, &value, sizeof real);
    if (real != real || real - real != 0) {  // nan and inf have no JSON form
      *out += "null";
      return;
    }
    end = std::to_chars(text, text + sizeof text, real).ptr;
  } else if (type == ArgType::kUnsigned) {
    end = std::to_chars(text, text + sizeof text, static_cast<std::uint64_t>(value)).ptr;
  } else {
    end = std::to_chars(text, text + sizeof text, value).ptr;
  }
  out->append(text, end);
}

std::int64_t as_integer(const Trace& trace, ArgType type, std::int64_t value) {
  switch (type) {
    case ArgType::kInteger:
    case ArgType::kUnsigned: return value;
    case ArgType::kReal: {
      double real;
      std::memcpy(&real, &value, sizeof real);
      return real > -9.2e18 && real < 9.2e18 ? static_cast<std::int64_t>(real) : -1;
    }
    case ArgType::kWord: return value == 2 ? -1 : value;
    case ArgType::kString: {
      const std::string_view text = trace.strings.get(static_cast<std::int32_t>(value));
      std::int64_t number = -1;
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
      return parsed.ptr == text.data() + text.size() && parsed.ec == std::errc() ? number : -1;
    }
    case ArgType::kJson: return -1;
  }
  return -1;
}

double as_real(const Trace& trace, ArgType type, std::int64_t value) {
  if (type == ArgType::kReal) {
    double real;
    std::memcpy(&real, &value, sizeof real);
    return real;
  }
  if (type == ArgType::kString) {
    const std::string_view text = trace.strings.get(static_cast<std::int32_t>(value));
    double real = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), real);
    if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size()) return real;
  }
  if (type == ArgType::kInteger) return static_cast<double>(value);
  if (type == ArgType::kUnsigned) return static_cast<double>(static_cast<std::uint64_t>(value));
  return __builtin_nan("");
}

std::int32_t as_text(Trace* trace, ArgType type, std::int64_t value, std::string* scratch) {
  if (type == ArgType::kString || type == ArgType::kJson) return static_cast<std::int32_t>(value);
  if (type == ArgType::kWord) {
    static constexpr std::string_view kWords[] = {"false", "true"};
    return value == 2 ? -1 : trace->strings.intern(kWords[value]);
  }
  scratch->clear();
  append_number(scratch, type, value);
  return trace->strings.intern(*scratch);
}

}  // namespace
}  // namespace sonde::trace

using sonde::trace::Family;
using sonde::trace::Store;
using sonde::trace::Trace;

SONDE_EXPORT int sonde_trace_read(const char* path, const std::uint64_t* limits, Trace** out, char* error,
                                  std::size_t error_size) {
  using sonde::trace::Source;
  return sonde::trace::read_with(
      [path](std::uint64_t ratio) { return std::make_unique<Source>(path, ratio); }, limits, out, error,
      error_size);
}

SONDE_EXPORT int sonde_trace_read_memory(const char* data, std::size_t size, const std::uint64_t* limits,
                                         Trace** out, char* error, std::size_t error_size) {
  using sonde::trace::Source;
  return sonde::trace::read_with(
      [data, size](std::uint64_t ratio) { return std::make_unique<Source>(data, size, ratio); }, limits, out,
      error, error_size);
}

SONDE_EXPORT void sonde_trace_free(Trace* trace) { delete trace; }

// 0 events, 1 metadata events, 2 plain bytes, 3 file bytes, 4 gzip, 5 documents, 6 has events,
// 7 tracks, 8 strings, 9 keys, 10 metadata entries
SONDE_EXPORT std::int64_t sonde_trace_fact(const Trace* trace, int which) {
  const std::uint64_t facts[] = {trace->events,
                                 trace->metadata_events,
                                 trace->plain_bytes,
                                 trace->file_bytes,
                                 trace->compressed ? 1U : 0U,
                                 static_cast<std::uint64_t>(trace->documents),
                                 trace->has_events ? 1U : 0U,
                                 trace->track_pid.size(),
                                 trace->strings.size(),
                                 trace->keys.size(),
                                 trace->metadata.size()};
  return which >= 0 && which < static_cast<int>(std::size(facts)) ? static_cast<std::int64_t>(facts[which]) : -1;
}

SONDE_EXPORT std::int64_t sonde_trace_rows(const Trace* trace, int family) {
  return static_cast<std::int64_t>(trace->stores[family].track.size());
}

// 0 track (i32), 1 category (i32), 2 name (i32), 3 start_ns (i64), 4 duration_ns (i64), 5 id (i64)
SONDE_EXPORT const void* sonde_trace_column(const Trace* trace, int family, int column) {
  const Store& store = trace->stores[family];
  switch (column) {
    case 0: return store.track.data();
    case 1: return store.category.data();
    case 2: return store.name.data();
    case 3: return store.start_ns.data();
    case 4: return store.duration_ns.data();
    case 5: return store.id.data();
    default: return nullptr;
  }
}

// 0 pid (i64), 1 tid (i64), 2 document, 3 thread name, 4 process name, 5 process label (i32)
SONDE_EXPORT const void* sonde_trace_tracks(const Trace* trace, int column) {
  switch (column) {
    case 0: return trace->track_pid.data();
    case 1: return trace->track_tid.data();
    case 2: return trace->track_document.data();
    case 3: return trace->track_name.data();
    case 4: return trace->track_process_name.data();
    case 5: return trace->track_process_label.data();
    default: return nullptr;
  }
}

// 0: values of events and arguments; 1: argument keys
SONDE_EXPORT void sonde_trace_strings(const Trace* trace, int which, const char** bytes,
                                      const std::uint64_t** offsets, std::int64_t* count) {
  const auto& strings = which == 0 ? trace->strings : trace->keys;
  *bytes = strings.bytes().data();
  *offsets = strings.offsets().data();
  *count = static_cast<std::int64_t>(strings.size());
}

SONDE_EXPORT void sonde_trace_metadata(const Trace* trace, std::int64_t entry, const char** key,
                                       std::int64_t* key_size, const char** value, std::int64_t* value_size,
                                       int* is_string, int* document) {
  const auto& found = trace->metadata[static_cast<std::size_t>(entry)];
  *key = found.key.data();
  *key_size = static_cast<std::int64_t>(found.key.size());
  *value = found.value.data();
  *value_size = static_cast<std::int64_t>(found.value.size());
  *is_string = found.is_string ? 1 : 0;
  *document = found.document;
}

// Cause number `which`; 0 when there is no such number.
SONDE_EXPORT int sonde_trace_loss(const Trace* trace, int which, const char** cause, const char** unit,
                                  const char** meaning, std::uint64_t* count, std::uint64_t* first_byte) {
  if (which < 0 || which >= static_cast<int>(sonde::trace::Loss::kCount)) return 0;
  const auto& word = sonde::trace::kLossWords[which];
  *cause = word.cause;
  *unit = word.unit;
  *meaning = word.meaning;
  *count = trace->losses.count[static_cast<std::size_t>(which)];
  *first_byte = trace->losses.first_byte[static_cast<std::size_t>(which)];
  return 1;
}

// Takes arguments out into arrays in one pass. For key code k, slot[k] is -1 or the number of the
// output; kinds: 0 i64, 1 f64, 2 string codes (i32). Outputs are filled with "none" beforehand.
SONDE_EXPORT void sonde_trace_fill(Trace* trace, int family, const std::int32_t* slot, const std::int32_t* kinds,
                                   void* const* outputs) {
  const Store& store = trace->stores[family];
  std::string scratch;
  std::uint32_t at = 0;
  for (std::size_t row = 0; row < store.arg_end.size(); ++row) {
    for (; at < store.arg_end[row]; ++at) {
      const std::int32_t s = slot[store.arg_key[at]];
      if (s < 0) continue;
      const auto type = store.arg_type[at];
      const std::int64_t value = store.arg_value[at];
      switch (kinds[s]) {
        case 0: static_cast<std::int64_t*>(outputs[s])[row] = sonde::trace::as_integer(*trace, type, value); break;
        case 1: static_cast<double*>(outputs[s])[row] = sonde::trace::as_real(*trace, type, value); break;
        default:
          static_cast<std::int32_t*>(outputs[s])[row] = sonde::trace::as_text(trace, type, value, &scratch);
      }
    }
  }
}

// Composes a JSON object from the arguments whose key has wanted[k] != 0; -1 for rows with none.
SONDE_EXPORT void sonde_trace_compose(Trace* trace, int family, const std::uint8_t* wanted, std::int32_t* out) {
  using sonde::trace::ArgType;
  const Store& store = trace->stores[family];
  std::string text;
  std::uint32_t at = 0;
  for (std::size_t row = 0; row < store.arg_end.size(); ++row) {
    text.clear();
    for (; at < store.arg_end[row]; ++at) {
      if (wanted[store.arg_key[at]] == 0) continue;
      text += text.empty() ? "{" : ",";
      sonde::trace::append_json_string(&text, trace->keys.get(store.arg_key[at]));
      text.push_back(':');
      const ArgType type = store.arg_type[at];
      const std::int64_t value = store.arg_value[at];
      if (type == ArgType::kString) {
        sonde::trace::append_json_string(&text, trace->strings.get(static_cast<std::int32_t>(value)));
      } else if (type == ArgType::kJson) {
        text += trace->strings.get(static_cast<std::int32_t>(value));
      } else if (type == ArgType::kWord) {
        text += value == 0 ? "false" : (value == 1 ? "true" : "null");
      } else {
        sonde::trace::append_number(&text, type, value);
      }
    }
    if (text.empty()) {
      out[row] = -1;
    } else {
      text.push_back('}');
      out[row] = trace->strings.intern(text, sonde::trace::Strings::kDecoded);
    }
  }
}

// Renumbers codes densely in the order of their first use: `out` gets the new codes (negative ones
// become -1), `chosen` the old code of each new one. Returns how many distinct codes there are.
SONDE_EXPORT std::int64_t sonde_recode(std::int64_t count, const std::int32_t* codes, std::int64_t strings,
                                       std::int32_t* out, std::int32_t* chosen) {
  std::vector<std::int32_t> renumbered(static_cast<std::size_t>(strings), -1);
  std::int32_t used = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t code = codes[i];
    if (code < 0 || code >= strings) {
      out[i] = -1;
      continue;
    }
    std::int32_t& slot = renumbered[static_cast<std::size_t>(code)];
    if (slot < 0) {
      slot = used;
      chosen[used++] = code;
    }
    out[i] = slot;
  }
  return used;
}

SONDE_EXPORT std::int64_t sonde_nest(std::int64_t count, const std::int32_t* track, const std::int64_t* start,
                                     const std::int64_t* duration, std::int64_t* order, std::int64_t* parent) {
  return sonde::trace::nest(count, track, start, duration, order, parent);
}

SONDE_EXPORT void sonde_enclose(std::int64_t count, const std::int32_t* track, const std::int64_t* start,
                                const std::int64_t* end, const std::int64_t* parent,
                                const std::uint8_t* eligible, std::int64_t queries,
                                const std::int32_t* query_track, const std::int64_t* query_time,
                                std::int64_t* found) {
  sonde::trace::enclose(count, track, start, end, parent, eligible, queries, query_track, query_time, found);
}

SONDE_EXPORT void sonde_roll_up(std::int64_t count, const std::int64_t* parent, std::int64_t* values) {
  sonde::trace::roll_up(count, parent, values);
}

SONDE_EXPORT void sonde_inherit(std::int64_t count, const std::int64_t* parent, std::int64_t* values) {
  sonde::trace::inherit(count, parent, values);
}

SONDE_EXPORT std::int64_t sonde_chains(std::int64_t count, const std::int64_t* parent,
                                       const std::uint8_t* chosen, const std::int32_t* label,
                                       std::int64_t* node, std::int64_t* node_parent,
                                       std::int32_t* node_label) {
  return sonde::trace::chains(count, parent, chosen, label, node, node_parent, node_label);
}
