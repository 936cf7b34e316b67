#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/system.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

namespace sonde {
namespace {

constexpr rlim_t kLargestSoft = 65536;   // beyond it the kernel's table would grow by megabytes
__thread bool table_is_private __attribute__((tls_model("initial-exec"))) = false;

}  // namespace

bool take_private_descriptors() {
  // Nothing is copied from 0 on, so no end of a pipe stays open by this table.
  constexpr unsigned kUnshare = 2;  // CLOSE_RANGE_UNSHARE
  table_is_private = syscall(SYS_close_range, 0u, ~0u, kUnshare) == 0;
  return table_is_private;
}

bool has_private_descriptors() { return table_is_private; }

int move_high(int fd) {
  if (fd < 0 || table_is_private) return fd;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return fd;
  // The limit itself is the program's: raised even for a moment, a child that starts then inherits it, and what the
  // program sets at the same time is lost.
  const int floor = limit.rlim_cur >= kLargestSoft ? 8192 : static_cast<int>(limit.rlim_cur / 2);
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, floor);
  if (high < 0) return fd;  // no room up there: a low one is better than none
  close(fd);
  return high;
}

}  // namespace sonde
