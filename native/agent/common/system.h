// Small system calls that libc does not wrap, or wraps with more than we want. All async-signal-safe.
#pragma once

#include <linux/futex.h>
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

// Moves a descriptor out of the numbers that programs count, close or expect to get next: into the upper half of what
// the program may open. Async-signal-safe.
int move_high(int fd);

// Gives the calling thread a table of descriptors of its own, empty: what it opens from now on, the program
// does not see, cannot close, and its children do not inherit. False: the kernel (before 5.9) cannot.
bool take_private_descriptors();
bool has_private_descriptors();  // of the calling thread

}  // namespace sonde
