// An arena of glibc's for what a window of torch's profiler allocates, so that none of it lies in the program's heap.
//
// The profiler keeps a few dozen small blocks for ever. One of them on top of the program's heap stops glibc from giving
// memory back above its limit: the program's page faults vanish, and with them up to a third of its CPU time.
//
// In: a thread that is about to allocate on Sonde's behalf. Out: until it says otherwise, `malloc` serves it from the
// arena of Sonde's own thread, past its own cache of free blocks. `free` finds a block's arena by the block itself.
// Always: where glibc is not what we take it for (another allocator, unknown fields) nothing is changed.
#pragma once

#include <cstdint>

namespace sonde {

void note_libc();             // when the agent starts: where libc's variables lie
void serve_arena_request();   // by the background thread, which owns the arena
bool ask_for_own_arena();     // true: there is one; waits for the background thread, once in a process

// From one to the other the calling thread's allocations go to the own arena, if there is one. They nest.
void enter_own_arena();
void leave_own_arena();

// glibc raises these when a large block is freed, one of ours included. {0, 0}: not known.
struct HeapLimits {
  uint64_t trim_bytes, mmap_bytes;
};
HeapLimits heap_limits();
void restore_heap_limits(HeapLimits as);

}  // namespace sonde
