// The loaded libraries as the background thread last saw them: what glibc's index does not tell.
//
// A table is immutable once published. Readers hold a ReadModules while they use it;
// the background thread frees a replaced table only after a moment without readers.
#pragma once

#include <cstdint>

namespace sonde {

struct Module {
  uint64_t low = 0, high = 0;           // whole mapping
  uint64_t code_low = 0, code_high = 0;  // executable part
  uint64_t base = 0;                    // load bias
  uint64_t eh_frame_hdr = 0;            // 0: none
  uint32_t identity = 0;                // stays the same while the library stays loaded
  bool waits = false;                   // an OpenMP runtime: its loops wait for others, they do no work
};

// Async-signal-safe. Marks this thread as a reader of module tables for its lifetime.
class ReadModules {
 public:
  ReadModules();
  ~ReadModules();
  static void abandon();  // ends those of this thread that were left by siglongjmp
  ReadModules(const ReadModules&) = delete;
  ReadModules& operator=(const ReadModules&) = delete;
};

// Async-signal-safe, under a ReadModules. Null when pc is in no known library.
const Module* find_module(uint64_t pc);

// Async-signal-safe. Is pc in an OpenMP runtime? A few words instead of a search in the table.
bool in_waiting_module(uint64_t pc);

// Async-signal-safe. Changes whenever a library may have been unloaded: rules learned before are void.
uint32_t unload_generation();
void note_unload();

// Not async-signal-safe: takes the loader's lock for a moment. True when the set of libraries changed.
bool refresh_modules();

// Not async-signal-safe, as above. How many libraries were ever loaded and unloaded: a number that changes with
// the loader's list, without a walk of it (two hundred cold entries in a program with torch).
struct LoaderCounts {
  uint64_t loads = 0, unloads = 0;
  bool operator==(const LoaderCounts&) const = default;
};
LoaderCounts loader_counts();

// In the child of a fork: readers that ran in other threads are gone.
void modules_after_fork();

}  // namespace sonde
