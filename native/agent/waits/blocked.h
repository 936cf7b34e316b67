// What the kernel tells about another thread of this process, without a signal to it.
// Not async-signal-safe (background thread).
#pragma once

#include <cstdint>

#include "log/format.h"

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

// /proc/self/task/TID/syscall: 3-4 us.
Blocked read_blocked(int tid);

// /proc/self/task/TID/schedstat: time spent runnable but not running. False when not available.
bool read_run_delay(int tid, uint64_t* delay_ns);

log::WaitReason reason_of(const Blocked& blocked);

}  // namespace sonde
