// A perf map (/tmp/perf-PID.map: «start size name» in hexadecimal), read while it grows. V8, .NET, the JVM's
// agents, Inductor and Python's -X perf write one. It carries no times: an entry counts from the moment
// of the look before the one that found it, because it was not there then.
// Not async-signal-safe; used by the background thread.
#pragma once

#include <cstdint>

#include "log/writer.h"

namespace sonde {

class PerfMap {
 public:
  void set_pid(int pid);
  void start_over() { at_ = 0; }  // the next poll reads all of it again
  // True when it is a file that has entries: their times are as exact as the looks are frequent.
  bool poll(uint64_t now_ns, log::Writer& log);

 private:
  void write_line(const char* line, uint64_t since_ns, log::Writer& log);

  char path_[64] = {};
  uint64_t at_ = 0;
  uint64_t last_look_ns_ = 0;
};

}  // namespace sonde
