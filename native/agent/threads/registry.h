// The table of threads. Slots are taken under a lock (never in a handler); readers see
// a consistent thread through its `phase`.
#pragma once

#include <cstdint>

#include "threads/thread.h"

namespace sonde {

// Async-signal-safe. The calling thread's state, null when it has none.
Thread* current_thread();

// Async-signal-safe, on the thread itself: an adopted one is entered (threads/adopt.h).
void set_current_thread(Thread* thread);
// Where that lies from a thread's pointer, the same for all; `thread_pointer` is the caller's.
int64_t current_thread_offset(uint64_t thread_pointer);

// Not async-signal-safe. A fresh state in phase Starting, or null (counted as a loss).
Thread* take_thread();
void give_back(Thread* thread);  // from Starting, or from Ended once drained

// Not async-signal-safe, on the thread itself: fills in identity and stack, arms the engine.
void begin_thread(Thread* thread, log::ThreadKind kind);
// Not async-signal-safe, on the thread itself: disarms; the background thread does the rest.
void end_thread();

uint32_t ring_words();              // what a thread's ring holds
uint32_t thread_slots();            // upper bound of used slots
Thread* thread_at(uint32_t slot);   // null when never used

// Around fork: the lock is held from prepare to one of the others. In the child only the calling
// thread remains, as a thread that starts now.
void registry_before_fork();
void registry_after_fork_in_parent();
Thread* registry_after_fork_in_child();

// Is any thread of the program that libc counts (but `except`) alive or about to be?
bool other_threads_live(const Thread* except);

bool is_known_tid(int tid);
uint64_t thread_memory_bytes();

}  // namespace sonde
