// One perf cpu-clock event of one thread: it signals the thread, or only notes the kernel's stack.
#pragma once

#include <cstdint>

#include "threads/thread.h"

namespace sonde {

// On the thread itself. False with errno when the kernel refuses or descriptors are scarce.
enum class PerfUse : uint8_t {
  UserTicks,           // a signal for each tick outside the kernel
  AllTicks,            // a signal for each tick; those inside the kernel leave its stack in the ring
  KernelStacksOnly,    // no signals: ticks inside the kernel leave its stack in the ring, others cost next to nothing
};
bool open_perf(Thread* thread, uint32_t rate_hz, PerfUse use);
void close_perf(Thread* thread);
void forget_perf(Thread* thread);  // in the child of a fork: the event itself is the parent's
void set_perf_period(Thread* thread, uint64_t period_ns);  // async-signal-safe
void pause_perf(Thread* thread, bool paused);               // from any thread
bool descriptors_are_scarce();

}  // namespace sonde
