// Rules by pc, per thread, direct mapped: only its own thread (or its signal handler) uses it, so it needs
// no lock. An entry is void when a library was unloaded after it was made.
#pragma once

#include "unwind/decoder/code_runs.h"
#include "unwind/modules.h"
#include "unwind/rule.h"
#include "unwind/rule_path.h"

namespace sonde {

struct RuleCache {
  static constexpr unsigned kEntries = 1024;
  using Entry = CachedRule;
  RulePaths own, owners;           // a thread's own stack, and the stacks of owners it worked for
  Entry entry[kEntries];
  CodeRuns runs;                   // of code without tables

  // Async-signal-safe. The pc in the low 48 bits, the unload generation above.
  static uint64_t key(uint64_t pc) { return pc | static_cast<uint64_t>(unload_generation()) << 48; }
  Entry& place(uint64_t pc) { return entry[(pc ^ pc >> 10 ^ pc >> 20) % kEntries]; }
};

}  // namespace sonde
