// The whole file: documents, their metadata and their arrays of events, with recovery after damage.
#pragma once

#include "trace/events.h"
#include "trace/source.h"

namespace sonde::trace {

class DocumentReader {
 public:
  DocumentReader(Source* source, Trace* trace, const Limits& limits);

  // Reads to the end. Throws InputFailure for what is no trace at all or has no bounds.
  void read();

 private:
  char peek();
  void object();
  void unclosed();
  void events();
  void event();
  bool event_with(bool lenient, Status* status);
  void other_value();
  void resync_events();
  bool resync_object();
  Status key_and_value(const char* p, std::string_view* key, const char** value, const char** after);
  std::uint64_t here() const { return source_.position(p_); }

  Source& source_;
  Trace& trace_;
  const Limits& limits_;
  EventParser parser_;
  const char* p_;
  bool in_bad_run_ = false;
  std::string key_;
};

}  // namespace sonde::trace
