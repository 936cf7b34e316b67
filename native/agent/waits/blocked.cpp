#include "waits/blocked.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "common/system.h"

namespace sonde {
namespace {

enum class TaskFile : uint8_t { Call, Schedule };

// Opening a file below /proc costs five times as much as reading it, so the files of the first threads stay open, which
// the program does not see: this thread has descriptors of its own. An open file is of one task for good.
constexpr uint32_t kKeptThreads = 64;
struct Kept {
  int tid = 0, fd = -1;
};
constinit Kept kept[kKeptThreads][2];

bool read_from(int fd, char* out, size_t capacity) {
  const ssize_t n = pread(fd, out, capacity - 1, 0);
  if (n <= 0) return false;
  out[n] = 0;
  return true;
}

// The program's limit holds here, too; half of it is for what else is opened.
bool leaves_room(int fd) {
  rlimit limit = {};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && static_cast<rlim_t>(fd) < limit.rlim_cur / 2;
}

bool read_task_file(const Thread* thread, TaskFile which, char* out, size_t capacity) {
  Kept* const place = thread->slot < kKeptThreads && has_private_descriptors() ? &kept[thread->slot][int(which)] : nullptr;
  if (place && place->fd >= 0) {
    if (place->tid == thread->tid && read_from(place->fd, out, capacity)) return true;
    close(place->fd);
    place->fd = -1;
  }
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", thread->tid, which == TaskFile::Call ? "syscall" : "schedstat");
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool success = read_from(fd, out, capacity);
  if (place && success && leaves_room(fd)) {
    *place = {thread->tid, fd};
  } else {
    close(fd);
  }
  return success;
}

}  // namespace

void forget_kept_files() {
  for (auto& files : kept) files[0] = files[1] = Kept{};
}

Blocked read_blocked(const Thread* thread) {
  Blocked result;
  char text[256];
  if (!read_task_file(thread, TaskFile::Call, text, sizeof text) || text[0] == 'r') return result;  // "running"
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

bool read_run_delay(const Thread* thread, uint64_t* delay_ns) {
  char text[128];
  unsigned long long cpu, delay;
  if (!read_task_file(thread, TaskFile::Schedule, text, sizeof text)) return false;
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
