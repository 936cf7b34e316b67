// Which processes are followed, and how the others are noted. Not async-signal-safe.
#pragma once

#include "core/options.h"
#include "log/format.h"

namespace sonde {

// Followed: the program that `sonde run` started, every Python, every other program
// that is not a known helper (shells, compilers, coreutils: a build of Inductor starts hundreds, and
// they only carry the variables on). A forked child is followed without asking.
bool should_follow(const Options& options, log::ProcessOrigin* origin);

// Is this program one of those helpers?
bool is_helper_program();

// CPU time of this process that an earlier program of it used and logged before its exec.
struct EarlierCpu {
  uint64_t thread_ns = 0;  // of the thread that became the main one
  uint64_t user_ns = 0, system_ns = 0;
};
const EarlierCpu& earlier_cpu();

// Async-signal-safe. Pid of the process that `sonde run` started (0 not known), and who adopts its orphans when
// Sonde does not: init, or the nearest subreaper above Sonde.
int first_process();
int foster_parent();

// One line in FOLDER/raw/unfollowed.tsv: pid, why, program. Becomes a row of `losses`.
void note_unfollowed(const char* why);
void note_unfollowed(const char* why, int pid, const char* path);  // of another process, or of what this one becomes

// Environment variable by which a program that is replaced by exec tells its successor how much
// CPU time is already in a log: "PID:THREAD_NS:USER_NS:SYSTEM_NS".
constexpr const char* kExecVariable = "SONDE_AGENT_EXEC";

}  // namespace sonde
