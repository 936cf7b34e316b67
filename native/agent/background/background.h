// The background thread: drains rings, interns stacks, writes the log. It blocks all signals but
// faults, is named "sonde", and is itself accounted for but not sampled.
#pragma once

#include "log/format.h"

namespace sonde {

// Not async-signal-safe.
bool start_background(log::ProcessOrigin origin);

// Async-signal-safe.
bool is_background_tid(int tid);
bool background_exists();  // among the threads of this process, now
bool background_started();  // and not seen off

// Async-signal-safe. Asks for a drain soon.
void wake_background();

// Async-signal-safe. Asks for the end and waits for it; false when it took too long.
bool finish_background(log::EndReason reason);

// After it: waits until the thread is gone. The last thread of a process calls exit(), and that must be the
// program's: ours has a table of descriptors of its own, in which the program's output would be lost.
void see_background_off();

// Around fork: no pass is in progress between the two. False: it could not be had in time.
bool background_before_fork();
void background_after_fork_in_parent();
void background_after_fork_in_child(bool clean);

}  // namespace sonde
