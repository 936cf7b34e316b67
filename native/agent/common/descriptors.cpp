#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>

#include "common/system.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

namespace sonde {
namespace {

constexpr rlim_t kRoom = 8192;           // descriptors above the soft limit
constexpr rlim_t kLargestSoft = 65536;   // beyond it the kernel's table would grow by megabytes
__thread bool table_is_private __attribute__((tls_model("initial-exec"))) = false;
std::atomic<bool> limit_is_raised{false};  // one thread at a time; another goes the plain way

int duplicate_above(int fd, const rlimit& limit) {
  if (limit.rlim_cur > kLargestSoft) return -1;
  if (limit_is_raised.exchange(true, std::memory_order_acquire)) return -1;
  // Where the hard limit is no higher (a shell's `ulimit -n`), root may pass it for a moment.
  rlim_t most = limit.rlim_cur + kRoom;
  rlimit raised = {most, limit.rlim_max < most ? most : limit.rlim_max};
  int high = -1;
  if (setrlimit(RLIMIT_NOFILE, &raised) == 0) {
    // Not right above the limit: a program that lowered its limit may have descriptors there.
    high = fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(limit.rlim_cur + kRoom / 2));
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  limit_is_raised.store(false, std::memory_order_release);
  return high;
}

}  // namespace

bool take_private_descriptors() {
  // Nothing is copied from 0 on, so no end of a pipe stays open by this table.
  constexpr unsigned kUnshare = 2;  // CLOSE_RANGE_UNSHARE
  table_is_private = syscall(SYS_close_range, 0u, ~0u, kUnshare) == 0;
  return table_is_private;
}

int move_high(int fd) {
  if (fd < 0 || table_is_private) return fd;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return fd;
  int high = duplicate_above(fd, limit);
  if (high < 0) {
    int floor = limit.rlim_cur >= kLargestSoft ? 8192 : static_cast<int>(limit.rlim_cur / 2);
    high = fcntl(fd, F_DUPFD_CLOEXEC, floor);
  }
  if (high < 0) return fd;  // no room up there: a low one is better than none
  close(fd);
  return high;
}

}  // namespace sonde
