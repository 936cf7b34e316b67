// The address ranges of the evaluation function: its body, and the cold parts that the
// compiler moved elsewhere (`_PyEval_EvalFrameDefault.cold`), which only .symtab knows.
#pragma once

#include "python/interpreter.h"

namespace sonde::python {

// Not async-signal-safe: opens the library's file. Returns the number of ranges, at least one.
// A stripped library gives the body alone.
unsigned find_eval_ranges(void* eval, CodeRange* out, unsigned capacity);

}  // namespace sonde::python
