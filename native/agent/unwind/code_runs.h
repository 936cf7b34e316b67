// Stretches of code without unwind tables that share one rule: what reading ahead learned.
//
// A kernel's body rarely writes the register that its frame is found by, so a rule found at one pc holds for every
// instruction on the straight way to the next one that does. A few runs cover the hot part of a kernel, and a
// walk that starts anywhere in it need not read the code again. Generated code may be replaced: a run is
// believed only while the bytes at both its ends are what they were.
// Used by its own thread alone. Async-signal-safe.
#pragma once

#include <cstdint>

#include "common/guarded_memory.h"
#include "unwind/rule.h"

namespace sonde {

struct CodeRuns {
  static constexpr unsigned kRuns = 64;
  struct Run {
    uint64_t first_bytes, last_bytes;
    Rule rule;  // Damaged: reading ahead gave up here
  };

  uint64_t first[kRuns];  // address of the first instruction; 0: unused
  uint64_t last[kRuns];   // address of the last one
  Run run[kRuns];
  uint32_t next;          // the oldest, to be replaced

  static bool same_bytes(uint64_t address, uint64_t bytes) {
    uint32_t fault = 0;
    return guarded_load<uint64_t>(address, &fault) == bytes && !fault;
  }

  // Number of the run that holds pc, or kRuns. pc must be the start of an instruction.
  unsigned find(uint64_t pc) const {
    for (unsigned i = 0; i < kRuns; ++i) {
      if (pc < first[i] || pc > last[i]) continue;
      if (same_bytes(first[i], run[i].first_bytes) && same_bytes(last[i], run[i].last_bytes)) return i;
    }
    return kRuns;
  }

  void add(uint64_t low, uint64_t high, const Rule& rule) {
    uint32_t fault = 0;
    const Run fresh = {guarded_load<uint64_t>(low, &fault), guarded_load<uint64_t>(high, &fault), rule};
    if (fault) return;
    const unsigned at = next++ % kRuns;
    first[at] = low;
    last[at] = high;
    run[at] = fresh;
  }

  // The straight way from `low` leads into the run.
  void extend(unsigned at, uint64_t low) {
    uint32_t fault = 0;
    const auto bytes = guarded_load<uint64_t>(low, &fault);
    if (fault || low >= first[at]) return;
    first[at] = low;
    run[at].first_bytes = bytes;
  }
};

}  // namespace sonde
