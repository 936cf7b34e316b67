// A jitdump file (the format of `perf inject --jit`), read while it grows. oneDNN writes one
// when ONEDNN_JIT_PROFILE=4; its records carry the time, so code that replaced other code is told apart.
// Not async-signal-safe; used by the background thread.
#pragma once

#include <cstdint>

#include "log/writer.h"

namespace sonde {

class Jitdump {
 public:
  // Looks for the file of `pid` under `folder`/.debug/jit; true once found.
  bool find(const char* folder, int pid);
  bool found() const { return path_[0] != 0; }

  // For a forked child that reads its parent's file from the start: of the parent's own records
  // only those from before the fork are the child's code as well.
  void inherit(int own_pid, uint64_t forked_ns) {
    at_ = 0;
    own_pid_ = static_cast<uint32_t>(own_pid);
    forked_ns_ = forked_ns;
  }

  void start_over() { at_ = 0; }  // the next poll reads all of it again

  // Appends a JitCode record for each complete record that is new; true when there was one.
  bool poll(log::Writer& log);

 private:
  bool read_header(int fd);
  void write_code(int fd, uint64_t at, uint32_t size, uint64_t time_ns, log::Writer& log);

  char path_[512] = {};
  uint64_t at_ = 0;
  uint32_t own_pid_ = 0;
  uint64_t forked_ns_ = ~uint64_t{0};
  bool other_clock_ = false;  // times are not CLOCK_MONOTONIC
};

}  // namespace sonde
