// What the kernel tells about another thread of this process, without a signal to it.
// Not async-signal-safe (background thread).
#pragma once

#include <cstdint>

#include "log/format.h"
#include "threads/thread.h"

namespace sonde {

struct Blocked {
  bool blocked = false;      // false: running, runnable, or gone
  int64_t system_call = -1;  // -1: not in one (page fault)
  uint64_t first_argument = 0;
  uint64_t sp = 0, pc = 0;

  bool same_place(const Blocked& other) const {
    return blocked == other.blocked && system_call == other.system_call && sp == other.sp && pc == other.pc;
  }
};

// /proc/self/task/TID/syscall: 1 us, or 5 where the file cannot stay open.
Blocked read_blocked(const Thread* thread);

// /proc/self/task/TID/schedstat: time spent runnable but not running. False when not available.
bool read_run_delay(const Thread* thread, uint64_t* delay_ns);

// Before the first look of a background thread: the descriptors that were kept were another one's.
void forget_kept_files();

log::WaitReason reason_of(const Blocked& blocked);

}  // namespace sonde
