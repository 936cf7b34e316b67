#include "waits/blocked.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"

namespace sonde {
namespace {

bool read_task_file(int tid, const char* name, char* out, size_t capacity) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = read(fd, out, capacity - 1);
  close(fd);
  if (n <= 0) return false;
  out[n] = 0;
  return true;
}

}  // namespace

Blocked read_blocked(int tid) {
  Blocked result;
  char text[256];
  if (!read_task_file(tid, "syscall", text, sizeof text) || text[0] == 'r') return result;  // "running"
  // "NR ARG0 .. ARG5 SP PC", or "-1 SP PC" outside a system call.
  uint64_t words[9] = {};
  size_t count = 0;
  char* at = text;
  while (count < 9) {
    char* end = nullptr;
    uint64_t word = count == 0 ? static_cast<uint64_t>(strtoll(at, &end, 10)) : strtoull(at, &end, 16);
    if (end == at) break;
    words[count++] = word;
    at = end;
  }
  if (count != 9 && count != 3) return result;
  result.blocked = true;
  result.system_call = static_cast<int64_t>(words[0]);
  result.first_argument = count == 9 ? words[1] : 0;
  result.sp = words[count - 2];
  result.pc = words[count - 1];
  return result;
}

bool read_run_delay(int tid, uint64_t* delay_ns) {
  char text[128];
  unsigned long long cpu, delay;
  if (!read_task_file(tid, "schedstat", text, sizeof text)) return false;
  if (sscanf(text, "%llu %llu", &cpu, &delay) != 2) return false;
  *delay_ns = delay;
  return true;
}

log::WaitReason reason_of(const Blocked& blocked) {
  switch (modern_call(blocked.system_call)) {
    case -1: return log::WaitReason::Fault;
    case SYS_futex: return log::WaitReason::Lock;  // which lock (GIL, pool) the stack tells, offline
    case SYS_nanosleep:
    case SYS_clock_nanosleep: return log::WaitReason::Sleep;
    case SYS_read: case SYS_write: case SYS_readv: case SYS_writev: case SYS_pread64: case SYS_pwrite64:
    case SYS_preadv: case SYS_pwritev: case SYS_sendfile: case SYS_splice:
    case SYS_ppoll: case SYS_pselect6: case SYS_epoll_pwait: case 441 /* epoll_pwait2 */:
    case SYS_recvfrom: case SYS_recvmsg: case SYS_recvmmsg: case SYS_sendto: case SYS_sendmsg:
    case SYS_accept: case SYS_accept4: case SYS_connect:
    case SYS_fsync: case SYS_fdatasync: case SYS_msync: case SYS_sync_file_range:
    case SYS_openat: case SYS_close: case SYS_newfstatat:
    case SYS_flock: case SYS_ioctl: case SYS_io_getevents: case 426 /* io_uring_enter */:
      return log::WaitReason::Io;
    default: return log::WaitReason::Other;  // wait4, pause, rt_sigtimedwait, ...
  }
}

}  // namespace sonde
