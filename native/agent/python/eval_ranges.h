// The address ranges of the evaluation function: its body, and the cold parts that the
// compiler moved elsewhere (`_PyEval_EvalFrameDefault.cold`), by .symtab or, in stripped libraries, by jumps.
#pragma once

#include "python/interpreter.h"

namespace sonde::python {

// Not async-signal-safe: opens the library's file. Returns the number of ranges, at least one.
unsigned find_eval_ranges(void* eval, CodeRange* out, unsigned capacity);

}  // namespace sonde::python
