// Generated code that nobody named: told by the anonymous executable mapping it lies in.
// /proc/self/maps is read only when a walk met generated code outside the mappings known so far.
#pragma once

#include <cstdint>

#include "common/mapped_array.h"
#include "log/writer.h"

namespace sonde {

// Async-signal-safe. A walk met generated code at pc.
void note_generated_code(uint64_t pc);

class CodeRegions {
 public:
  // Not async-signal-safe. True when a walk had met code that was not known.
  bool poll(uint64_t now_ns, log::Writer& log);
  void forget() { known_.clear(); }

 private:
  struct Range {
    uint64_t low, high;
  };
  bool is_known(uint64_t pc) const;
  void read_mappings(uint64_t now_ns, log::Writer& log);
  void write(uint64_t low, uint64_t high, const char* what, log::Writer& log);

  MappedArray<Range> known_;
  uint64_t last_look_ns_ = 0;
};

}  // namespace sonde
