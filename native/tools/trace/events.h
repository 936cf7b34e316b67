// One event of a trace: its JSON object in, one row of a Store out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/json.h"
#include "trace/pairs.h"
#include "trace/trace.h"

namespace sonde::trace {

class EventParser {
 public:
  EventParser(Trace* trace, const Limits& limits);

  Json json;

  // p at '{'. On kOk, p is behind '}' and the event is in the trace; else nothing has changed but
  // interned strings.
  Status parse(const char*& p, std::uint64_t position);
  // After the last event: gives the slices that came as two events their lengths.
  void finish() { pairs_.settle(&trace_); }

 private:
  // Losses to count when the event is kept, in Event::marks.
  enum Mark : std::uint32_t {
    kNotANumberMark = 1,
    kNumberAsStringMark = 2,
    kDuplicateMark = 4,
    kTooManyKeysMark = 8,
  };
  struct Event {
    char phase = 0;
    std::int32_t category = -1;
    std::int32_t name = -1;
    std::int64_t pid = 0;
    std::int64_t tid = 0;
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::int64_t id = -1;
    std::uint32_t fields = 0;  // which keys were seen, for duplicates
    std::uint32_t marks = 0;   // losses to count when the event is kept
    bool has_start = false;
    bool has_duration = false;
    bool start_in_ns = false;
  };

  Status fields(const char*& p, Event* event);
  Status arguments(const char*& p, Event* event);
  Status argument(const char*& p, std::uint16_t key, bool keep, Event* event);
  Status text(const char*& p, std::int32_t* code, Event* event);
  Status identity(const char*& p, std::int64_t* out, Event* event);
  Status time(const char*& p, std::int64_t* out_ns, bool* given, bool* in_ns, Event* event);
  Status word(const char*& p, Event* event, Arg* arg);
  void keep(const Event& event, std::uint64_t position);
  void keep_half(const Event& event, std::uint64_t position);
  void keep_metadata(const Event& event);
  void append(Store* store, const Event& event, std::int32_t name);
  Family family(std::int32_t category);

  Trace& trace_;
  Pairs pairs_;
  std::string scratch_;
  std::vector<Arg> args_;
  std::vector<std::uint8_t> key_ignored_;
  std::vector<std::uint16_t> key_after_;  // key that followed this one last time: usually does again
  std::vector<std::int8_t> family_of_;    // by string code, -1 when not asked yet
};

}  // namespace sonde::trace
