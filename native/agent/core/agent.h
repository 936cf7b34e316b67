// The life of the agent in one process: absent -> running -> stopped; again running after a fork.
#pragma once

#include <cstdint>

#include "core/options.h"
#include "engine/engine.h"
#include "log/format.h"

namespace sonde {

// Async-signal-safe.
bool agent_present();   // the agent was asked for and its signal handlers are in place
bool agent_sampling();  // samples are wanted now
int agent_pid();
const Options& agent_options();
Engine* agent_engine();

void set_sampling(bool on);  // async-signal-safe; blocks (overhead measurement) and stop

// Not async-signal-safe, but only waits on the background thread: flushes the log, at most a second.
// Does nothing in a vfork child or when not running.
void agent_stop(log::EndReason reason);
// After a failed exec: a new log of the same process.
void agent_resume();

// The agent came into a program that already ran (attach/visit.h), and leaves before it ends. Async-signal-safe.
bool agent_visits();
// Not async-signal-safe, on a thread of the agent's own. Ready to record as `given` says; nothing is sampled yet.
bool begin_visit(const Options& given);
bool start_visit();                // handlers, log; then adopted threads may be armed
void stop_visit();                 // no more samples, the log is finished; handlers are still there
void end_visit();                  // nothing of the agent's is called any more
bool agent_running();

}  // namespace sonde
