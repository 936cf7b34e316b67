// glibc's own lock-free index of the libraries (2.35 and later), asked for by name, so that the agent also builds and loads
// where glibc is older.
#pragma once

namespace sonde {

// struct dl_find_object as it is on x86-64 (a stable ABI).
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  void* link_map;
  void* eh_frame;
  unsigned long long reserved[7];
};
using FindObject = int (*)(void*, FoundObject*);

}  // namespace sonde
