// Threads of the agent's own beside the background thread: never adopted, never sampled. Async-signal-safe.
#pragma once

namespace sonde {

void note_own_thread();    // the calling one
void forget_own_thread();  // it is about to end
bool is_own_tid(int tid);
int own_thread_count();
void own_threads_after_fork();

}  // namespace sonde
