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
#include "core/agent.h"
#include "engine/engine.h"
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

struct Event {
  int fd = -1;
  void* ring = nullptr;
};

// Each thread with one costs a descriptor; the program's own need comes first.
bool descriptors_are_scarce() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  return open_events.load(std::memory_order_relaxed) >= limit.rlim_cur / 4;
}

perf_event_attr attributes_of(PerfUse use, uint64_t period_ns) {
  const bool with_kernel = use != PerfUse::UserTicks, signals = use != PerfUse::KernelStacksOnly;
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_period = period_ns;
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
  return attributes;
}

// Opened, mapped as far as there is memory, and running; the descriptor is where perf put it.
bool start_event(const Thread* thread, PerfUse use, uint64_t period_ns, Event* out) {
  const bool with_kernel = use != PerfUse::UserTicks, signals = use != PerfUse::KernelStacksOnly;
  perf_event_attr attributes = attributes_of(use, period_ns);
  Event event;
  event.fd = open_event(&attributes, thread->tid);
  if (event.fd < 0 && use == PerfUse::AllTicks) {  // ticks without kernel stacks are worth having, too
    attributes.sample_type = 0;
    attributes.exclude_callchain_user = 0;
    event.fd = open_event(&attributes, thread->tid);
  }
  if (event.fd < 0) return false;
  event.ring = map_event(event.fd, with_kernel && attributes.sample_type != 0);
  if ((!signals && !has_room_for_stacks(event.ring)) || (signals && !signal_thread(event.fd, thread->tid)) ||
      ioctl(event.fd, PERF_EVENT_IOC_ENABLE, 0) != 0) {
    const int saved = errno;
    unmap_event(event.ring);
    close(event.fd);
    errno = saved;
    return false;
  }
  *out = event;
  return true;
}

// A mapping keeps its event alive, and the signals that it sends.
void let_go(Event* event) {
  close(event->fd);
  event->fd = -1;
}

// Whole periods on average, but none the same: what is alike in many short threads, or in the turns of one, must not be met
// at the same place each time.
uint64_t drawn_period(Thread* thread, uint32_t rate_hz) {
  const uint64_t period_ns = 1'000'000'000u / rate_hz;
  const uint64_t drawn_ns = period_ns / 2 + next_random(&thread->random) % (period_ns + 1);
  return drawn_ns < kShortestWaitNs ? kShortestWaitNs : drawn_ns;
}

void take_descriptor(Thread* thread, int fd) {
  fd = move_high(fd);
  open_events.fetch_add(1, std::memory_order_relaxed);
  thread->perf_id = event_id(fd);
  thread->perf_fd = fd;
  thread->settles_at_ns = 0;
}

// A handler may come between any two lines.
void put_in_place(Thread* thread, const Event& fresh, uint64_t period_ns) {
  void* const before = thread->kernel_ring;
  thread->kernel_ring = fresh.ring;
  unmap_event(before);
  thread->period_ns = period_ns;
}

constexpr uint64_t kNever = ~uint64_t{0};

}  // namespace

bool open_perf(Thread* thread, uint32_t rate_hz, PerfUse use) {
  Event event;
  const bool wants_descriptor = agent_options().blocks;
  const uint64_t period_ns = wants_descriptor ? until_tick(mono_ns(), rate_hz) : drawn_period(thread, rate_hz);
  if (!start_event(thread, use, period_ns, &event)) return false;
  if (use != PerfUse::UserTicks && !has_room_for_stacks(event.ring)) count_loss(Loss::KernelStacksOff);
  if (event.ring && !wants_descriptor) {
    thread->settles_at_ns = thread_cpu_ns() + kWithoutDescriptorNs;
    let_go(&event);
  } else if (descriptors_are_scarce()) {
    unmap_event(event.ring);
    close(event.fd);
    errno = EMFILE;
    return false;
  } else {
    take_descriptor(thread, event.fd);
  }
  put_in_place(thread, event, period_ns);
  return true;
}

bool reopen_with_descriptor(Thread* thread, uint32_t rate_hz, PerfUse use) {
  thread->settles_at_ns = kNever;
  Event event;
  const uint64_t period_ns = until_tick(mono_ns(), rate_hz);
  if (descriptors_are_scarce() || !start_event(thread, use, period_ns, &event)) return false;
  take_descriptor(thread, event.fd);
  put_in_place(thread, event, period_ns);
  return true;
}

bool reopen_without_descriptor(Thread* thread, uint32_t rate_hz, PerfUse use) {
  Event event;
  const uint64_t period_ns = drawn_period(thread, rate_hz);
  if (!start_event(thread, use, period_ns, &event)) return false;
  let_go(&event);
  if (!event.ring) return false;
  put_in_place(thread, event, period_ns);
  if (!thread->settles_at_ns) thread->settles_at_ns = kNever;
  return true;
}

void close_perf(Thread* thread) {
  const bool counted = thread->perf_fd >= 0;
  const int fd = still_ours(thread) ? thread->perf_fd : -1;
  thread->perf_fd = -1;
  if (fd >= 0) ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
  void* const ring = thread->kernel_ring;
  thread->kernel_ring = nullptr;
  unmap_event(ring);
  if (fd >= 0) close(fd);
  if (counted) open_events.fetch_sub(1, std::memory_order_relaxed);
}

// Closes the inherited descriptor only: an ioctl here would stop the parent's clock. The kernel does not copy
// the event's ring into a child, so its address is not ours to unmap.
void forget_perf(Thread* thread) {
  thread->kernel_ring = nullptr;
  thread->settles_at_ns = 0;
  if (thread->perf_fd < 0) return;
  if (!is_filtered() && still_ours(thread)) close(thread->perf_fd);
  thread->perf_fd = -1;
  open_events.fetch_sub(1, std::memory_order_relaxed);
}

void pause_perf(Thread* thread, uint32_t rate_hz, PerfUse use, bool paused) {
  const int fd = thread->perf_fd;
  if (fd >= 0) {
    ioctl(fd, paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
  } else if (paused) {
    close_perf(thread);
  } else if (!thread->kernel_ring) {
    reopen_without_descriptor(thread, rate_hz, use);
  }
}

bool set_perf_period(Thread* thread, uint64_t period_ns) {
  if (thread->perf_fd < 0) return false;
  if (period_ns < kShortestWaitNs) period_ns = kShortestWaitNs;
  if (ioctl(thread->perf_fd, PERF_EVENT_IOC_PERIOD, &period_ns) != 0) {
    thread->perf_fd = -1;
    open_events.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  thread->period_ns = period_ns;
  return true;
}

}  // namespace sonde
