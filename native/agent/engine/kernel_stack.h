// The kernel's part of a sample's stack, from the perf event's own ring.
//
// A tick that lands in the kernel (system call, page fault) writes the kernel's call chain into the ring; its
// signal is delivered when the thread goes back to user code. So when the handler runs, what lies in the ring
// are the ticks of this very stay in the kernel, and the interrupted registers are where it was entered:
// no join by time, no lock. Only the thread itself reads its ring. Where a timer sends the signal and perf only writes
// (timer+kernel) the two may miss each other: then the time of a record tells.
#pragma once

#include <cstdint>

#include "common/page.h"
#include "threads/thread.h"

namespace sonde {

// Room for 15 stacks of usual depth (30 frames), 8 of the greatest; at least a page.
inline uint64_t kernel_ring_bytes() { return page_bytes() > 8192 ? page_bytes() : 8192; }

// Async-signal-safe. The event's control page, with room for stacks if that is wanted and there is memory for it
// (RLIMIT_MEMLOCK). Null: not even for the page.
void* map_event(int fd, bool with_stacks);
bool has_room_for_stacks(const void* ring);  // may be null
void unmap_event(void* ring);  // may be null

// Async-signal-safe. Takes everything from the ring and fills thread->kernel, leaf first. Returns the number
// of frames: 0 when the tick came from user code. When several ticks fell into one stay in the kernel the
// sample stands for all of them: one is drawn at random. `time_ns`
// and `pc`: when the handler began, and where it interrupted; by them the engine tells ticks of earlier stays.
uint32_t take_kernel_stack(Thread* thread, uint64_t time_ns, uint64_t pc);

// Async-signal-safe. Forgets ticks that fell into the handler itself: their stacks are Sonde's own.
void drop_kernel_stacks(Thread* thread);

}  // namespace sonde
