// The clocks of a recording, in nanoseconds. All async-signal-safe.
#pragma once

#include <time.h>

#include <cstdint>

namespace sonde {

inline uint64_t clock_ns(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

inline uint64_t mono_ns() { return clock_ns(CLOCK_MONOTONIC); }
inline uint64_t thread_cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }
inline uint64_t process_cpu_ns() { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

// The CPU clock of any thread of this process; clock_gettime on it fails once the thread is gone.
inline clockid_t thread_cpu_clock(int tid) {
  return static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3) | 6u);  // per-thread, scheduler clock
}

// CLOCK_REALTIME - CLOCK_MONOTONIC, from the tightest of a few readings.
inline int64_t epoch_offset_ns() {
  int64_t best = 0;
  uint64_t width = ~uint64_t{0};
  for (int i = 0; i < 5; i++) {
    uint64_t before = mono_ns();
    uint64_t real = clock_ns(CLOCK_REALTIME);
    uint64_t after = mono_ns();
    if (after - before < width) {
      width = after - before;
      best = static_cast<int64_t>(real) - static_cast<int64_t>(before + (after - before) / 2);
    }
  }
  return best;
}

}  // namespace sonde
