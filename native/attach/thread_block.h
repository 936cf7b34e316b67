// The description of a thread as the program's glibc expects it at the thread pointer, for the bare clone that calls
// pthread_create once: self pointers, stack canary and pointer guard, thread number, and the initial images of
// thread-local variables (a replaced malloc crashes on zeros).
#pragma once

#include <cstdint>

#include "remote.h"

namespace sonde::attach {

constexpr uint64_t kVariablesBytes = 256u << 10;  // below the thread pointer
constexpr uint64_t kBlockBytes = 16u << 10;       // above it

// Where the thread's number lies in it, 0: not found. `thread`: the thread pointer of the thread `tid`.
uint64_t number_offset(const Memory& memory, uint64_t thread, int tid);

// False: the program's memory does not look as expected.
bool write_thread_block(const Memory& memory, int pid, uint64_t block, uint64_t thread, uint64_t loader_list);

}  // namespace sonde::attach
