// Finding the caller of code without unwind information by reading ahead.
//
// From any point of a function, every path to its `ret` leaves the stack pointer at the same return address
// and restores the same callee-saved registers. So following one path, with the values of registers kept as
// «register at pc + constant» or «memory at such an address», gives the frame's rule exactly, wherever pc is:
// in the prologue, the body or the epilogue, with fixed or realigned frames. No start of the function is
// needed. What it cannot see (an indirect jump on the way, a computed stack pointer) makes it give up.
#pragma once

#include <cstdint>

#include "unwind/code_runs.h"
#include "unwind/rule.h"

namespace sonde {

// Given by the architecture (arch/…/decoder). Async-signal-safe. False when no path was found within the budget. `runs` (may be null) remembers.
bool rule_by_reading_ahead(uint64_t pc, CodeRuns* runs, Rule* rule);

}  // namespace sonde
