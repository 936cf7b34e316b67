// The process's memory map (/proc/self/maps), line by line. The one parser of it.
// Not async-signal-safe. Paths are valid as long as the reader.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde {

struct MapsLine {
  uint64_t low = 0, high = 0;
  uint64_t offset = 0, inode = 0;
  bool readable = false, writable = false, executable = false;
  const char* path = "";  // as the kernel writes it: "" for none, "[vdso]", "/memfd:… (deleted)"
};

class MapsReader {
 public:
  // By default of this process; of the calling thread rather, because a main thread that has left has no map.
  explicit MapsReader(const char* file = "/proc/thread-self/maps");
  ~MapsReader();
  MapsReader(const MapsReader&) = delete;
  MapsReader& operator=(const MapsReader&) = delete;

  bool is_open() const { return text_ != nullptr; }
  bool next(MapsLine* line);  // false at the end
  void rewind() { at_ = text_; }

 private:
  char* text_ = nullptr;  // the whole file, lines ended by zero bytes
  char* at_ = nullptr;
  char* end_ = nullptr;
};

}  // namespace sonde
