// Which file is mapped where, as executable code, and since when.
// Background thread only; not async-signal-safe.
#pragma once

#include <cstdint>

#include "common/mapped_array.h"
#include "log/writer.h"
#include "unwind/modules.h"

namespace sonde {

class Mappings {
 public:
  // Writes Mapping and Unmapping records for what changed since the last call. Cheap (two counts of
  // the loader) when nothing did; reads /proc/self/maps otherwise, and now and then.
  // True when the loader's list had changed.
  enum class Look : uint8_t { First, Usual, Last };
  bool update(log::Writer& log, uint64_t now_ns, Look look);
  void reset();

 private:
  struct Entry {
    uint64_t start, end, offset, inode;
    uint64_t path_hash;
    bool seen;
  };
  void scan(log::Writer& log, uint64_t since);

  MappedArray<Entry> known_;
  LoaderCounts last_counts_;
  uint64_t last_scan_ns_ = 0;    // maps were read
  uint64_t last_update_ns_ = 0;  // nothing had changed up to here
};

// Not async-signal-safe. The GNU build id of an ELF file as hex, "" when it has none.
void read_build_id(const char* path, char* hex, size_t capacity);

}  // namespace sonde
