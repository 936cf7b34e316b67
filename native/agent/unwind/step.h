// One step up the stack: from a frame's registers to its caller's.
#pragma once

#include "arch/arch.h"
#include "unwind/rule.h"
#include "unwind/unwind.h"

namespace sonde {

// Memory that the walk may take return addresses and saved registers from.
struct StackWindow {
  uint64_t low, high;
  // While the stack pointer is elsewhere (generated code that uses it for other things, coroutines): the thread's own
  // stack, to which a step may lead back from above or below. Else 0, 0.
  uint64_t home_low = 0, home_high = 0;

  bool holds(uint64_t address) const {
    return (address >= low && address + 8 <= high && address % 8 == 0) || leads_home(address);
  }
  bool leads_home(uint64_t address) const {
    return address >= home_low && address + 8 <= home_high && address % 8 == 0;
  }
};

struct Step {
  enum class Outcome : uint8_t { Moved, Root, Failed } outcome = Outcome::Failed;
  WalkEnd why = WalkEnd::BadRule;  // for Failed
  bool interrupted_caller = false;  // the caller's pc is exact (signal frame)
  uint64_t cfa = 0;
};

// Async-signal-safe. Applies a compact rule.
Step apply_rule(const Rule& rule, const StackWindow& window, Registers* registers);

// Async-signal-safe. Works the row for `lookup_pc` out and applies it, whatever its shape.
Step apply_row(uint64_t lookup_pc, const StackWindow& window, Registers* registers);

}  // namespace sonde
