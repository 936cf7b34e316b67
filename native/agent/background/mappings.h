// Which file is mapped where, as executable code, and since when.
// Background thread only; not async-signal-safe.
#pragma once

#include <cstdint>

#include "common/mapped_array.h"
#include "log/writer.h"

namespace sonde {

class Mappings {
 public:
  // Writes Mapping and Unmapping records for what changed since the last call. Cheap (a walk of
  // the loader's list) when nothing did; reads /proc/self/maps otherwise, and every few seconds.
  // True when the loader's list had changed.
  bool update(log::Writer& log, uint64_t now_ns, bool force);
  void reset();

 private:
  struct Entry {
    uint64_t start, end, offset, inode;
    uint64_t path_hash;
    bool seen;
  };
  uint64_t loader_state() const;
  void scan(log::Writer& log, uint64_t now_ns);

  MappedArray<Entry> known_;
  uint64_t last_state_ = 0;
  uint64_t last_scan_ns_ = 0;    // maps were read
  uint64_t last_update_ns_ = 0;  // nothing had changed up to here
};

// Not async-signal-safe. The GNU build id of an ELF file as hex, "" when it has none.
void read_build_id(const char* path, char* hex, size_t capacity);

}  // namespace sonde
