// Small system calls that libc does not wrap, or wraps with more than we want. All async-signal-safe.
#pragma once

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace sonde {

inline int thread_id() { return static_cast<int>(syscall(SYS_gettid)); }
inline int process_id() { return static_cast<int>(syscall(SYS_getpid)); }  // never a cached one: vfork

// Sleeps while *word == expected, at most timeout_ns.
inline void futex_wait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns) {
  timespec timeout = {static_cast<time_t>(timeout_ns / 1'000'000'000u),
                      static_cast<long>(timeout_ns % 1'000'000'000u)};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &timeout, nullptr, 0);
}

inline void futex_wake(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1 << 30, nullptr, nullptr, 0);
}

// Moves a descriptor out of the low numbers that programs count, close or expect to get next.
inline int move_high(int fd) {
  if (fd < 0) return fd;
  rlimit limit = {};
  int floor = 256;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    floor = limit.rlim_cur >= 65536 ? 8192 : static_cast<int>(limit.rlim_cur / 2);
  }
  int high = fcntl(fd, F_DUPFD_CLOEXEC, floor);
  if (high < 0) return fd;  // no room up there: a low one is better than none
  close(fd);
  return high;
}

}  // namespace sonde
