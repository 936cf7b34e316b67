#include "engine/perf_event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/system.h"
#include "engine/grid.h"
#include "engine/kernel_stack.h"
#include "log/loss.h"
#include "process/confined.h"
#include "signals/shared.h"

namespace sonde {
namespace {
std::atomic<uint32_t> open_events{0};

int open_event(perf_event_attr* attributes, int tid) {
  return static_cast<int>(syscall(SYS_perf_event_open, attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

bool signal_thread(int fd, int tid) {
  f_owner_ex owner = {F_OWNER_TID, tid};
  return fcntl(fd, F_SETSIG, kSampleSignal) == 0 && fcntl(fd, F_SETOWN_EX, &owner) == 0 &&
         fcntl(fd, F_SETFL, O_ASYNC) == 0;
}

uint64_t event_id(int fd) {
  uint64_t id = 0;
  return ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

// A program that closes "all" descriptors may have given our number to a file of its own.
bool still_ours(const Thread* thread) { return thread->perf_fd >= 0 && event_id(thread->perf_fd) == thread->perf_id; }

}  // namespace

// Each thread costs a descriptor; the program's own need comes first.
bool descriptors_are_scarce() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  return open_events.load(std::memory_order_relaxed) >= limit.rlim_cur / 4;
}

bool open_perf(Thread* thread, uint32_t rate_hz, PerfUse use) {
  if (descriptors_are_scarce()) {
    errno = EMFILE;
    return false;
  }
  const bool with_kernel = use != PerfUse::UserTicks, signals = use != PerfUse::KernelStacksOnly;
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  thread->period_ns = until_tick(mono_ns(), rate_hz);
  attributes.sample_period = thread->period_ns;
  attributes.disabled = 1;
  attributes.exclude_kernel = !with_kernel;
  attributes.exclude_user = !signals;
  attributes.exclude_hv = 1;
  if (signals) {
    attributes.wakeup_events = 1;
  } else {  // a wake-up is an interrupt of its own: never before the ring is all but full
    attributes.watermark = 1;
    attributes.wakeup_watermark = static_cast<uint32_t>(kernel_ring_bytes() - 1);
  }
  if (with_kernel) {
    attributes.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
    attributes.use_clockid = 1;
    attributes.clockid = CLOCK_MONOTONIC;
    attributes.exclude_callchain_user = 1;  // the handler walks that part, and better
  }
  int fd = open_event(&attributes, thread->tid);
  if (fd < 0 && use == PerfUse::AllTicks) {  // ticks without kernel stacks are worth having, too
    attributes.sample_type = 0;
    attributes.exclude_callchain_user = 0;
    fd = open_event(&attributes, thread->tid);
  }
  if (fd < 0) return false;
  fd = move_high(fd);
  const bool mapped = with_kernel && attributes.sample_type != 0 && map_kernel_stacks(thread, fd);
  if (with_kernel && !mapped) count_loss(Loss::KernelStacksOff);
  if ((!signals && !mapped) || (signals && !signal_thread(fd, thread->tid)) ||
      ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0) {
    int saved = errno;
    unmap_kernel_stacks(thread);
    close(fd);
    errno = saved;
    return false;
  }
  open_events.fetch_add(1, std::memory_order_relaxed);
  thread->perf_fd = fd;
  thread->perf_id = event_id(fd);
  return true;
}

void close_perf(Thread* thread) {
  if (thread->perf_fd < 0) return;
  const int fd = still_ours(thread) ? thread->perf_fd : -1;
  thread->perf_fd = -1;
  if (fd >= 0) ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
  unmap_kernel_stacks(thread);
  if (fd >= 0) close(fd);
  open_events.fetch_sub(1, std::memory_order_relaxed);
}

// Closes the inherited descriptor only: an ioctl here would stop the parent's clock. The kernel does not copy
// the event's ring into a child, so its address is not ours to unmap.
void forget_perf(Thread* thread) {
  thread->kernel_ring = nullptr;
  if (thread->perf_fd < 0) return;
  if (!is_filtered() && still_ours(thread)) close(thread->perf_fd);
  thread->perf_fd = -1;
  open_events.fetch_sub(1, std::memory_order_relaxed);
}

void pause_perf(Thread* thread, bool paused) {
  int fd = thread->perf_fd;
  if (fd >= 0) ioctl(fd, paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
}

void set_perf_period(Thread* thread, uint64_t period_ns) {
  if (period_ns < kShortestWaitNs) period_ns = kShortestWaitNs;
  if (thread->perf_fd >= 0 && ioctl(thread->perf_fd, PERF_EVENT_IOC_PERIOD, &period_ns) == 0) {
    thread->period_ns = period_ns;
  }
}

}  // namespace sonde
