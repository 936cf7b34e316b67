// What makes a walk cheap: rules by pc for all threads (shared_rules.h), and per thread the path of
// its last walks. The latter is used by its own thread (or its signal handler) alone, so it needs no lock.
#pragma once

#include "unwind/code_runs.h"
#include "unwind/rule_path.h"

namespace sonde {

struct RuleCache {
  RulePaths own, owners;           // a thread's own stack, and the stacks of owners it worked for
  CodeRuns runs;                   // of code without tables
};

}  // namespace sonde
