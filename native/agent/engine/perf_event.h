// One perf cpu-clock event of one thread: it signals the thread, or only notes the kernel's stack.
#pragma once

#include <cstdint>

#include "threads/thread.h"

namespace sonde {

enum class PerfUse : uint8_t {
  UserTicks,           // a signal for each tick outside the kernel
  AllTicks,            // a signal for each tick; those inside the kernel leave its stack in the ring
  KernelStacksOnly,    // no signals: ticks inside the kernel leave its stack in the ring, others cost next to nothing
};

// A descriptor is the program's to see, to count and to close; so the event lives by its mapped ring alone until the thread
// has used so much CPU time: programs that list their descriptors, and children whose parent does, are mostly done by then.
// Without a descriptor nobody can set the event's clock: ticks do not keep to the grid (engine/grid.h), and each puts another
// event in its place (17 us). Equal intervals would walk in step with a program whose turns take about as long.
inline constexpr uint64_t kWithoutDescriptorNs = 500'000'000;

// On the thread itself. False with errno when the kernel refuses or there is no descriptor to begin with. Without a
// descriptor, unless Blocks wants to stop it from another thread or there is no memory for the ring.
bool open_perf(Thread* thread, uint32_t rate_hz, PerfUse use);
// Async-signal-safe, on the thread itself. Another event in the place of the one it has, with or without a
// descriptor. False: it still has the old one, and no other try is made.
bool reopen_with_descriptor(Thread* thread, uint32_t rate_hz, PerfUse use);
bool reopen_without_descriptor(Thread* thread, uint32_t rate_hz, PerfUse use);  // the next tick comes after a period drawn anew
void close_perf(Thread* thread);
void forget_perf(Thread* thread);  // in the child of a fork: the event itself is the parent's

// Async-signal-safe. False: it has no descriptor. The program may have closed it, or given its number to a file of its own.
bool set_perf_period(Thread* thread, uint64_t period_ns);
// With a descriptor from any thread; without one, on the thread itself.
void pause_perf(Thread* thread, uint32_t rate_hz, PerfUse use, bool paused);

// Async-signal-safe. Has it an event without a descriptor?
inline bool is_without_descriptor(const Thread* thread) { return thread->settles_at_ns != 0; }

}  // namespace sonde
