// DWARF expressions: the small stack machine behind rules that an offset cannot express
// (PLT stubs, signal frames, realigned stacks, hand-written assembly).
#pragma once

#include <cstdint>

#include "arch/arch.h"

namespace sonde {

// Async-signal-safe. Evaluates `length` bytes at `at` with `initial` pushed first when
// `push_initial` is set. False when the form is unknown, memory unreadable or a register unknown.
bool evaluate_expression(uint64_t at, uint64_t length, const Registers& registers, bool push_initial,
                         uint64_t initial, uint64_t* result);

}  // namespace sonde
