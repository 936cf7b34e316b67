// Cold parts of the evaluation function in a stripped library, found by the jumps between them.
//
// Compilers move unlikely code of a function to another section, with an unwind entry of its own but no
// exported name. Only code of the same function jumps into the middle of the function, so a part is
// accepted when the body jumps into it and it jumps back into the body's inside.
#pragma once

#include "python/interpreter.h"

namespace sonde::python {

// Not async-signal-safe. Appends ranges to out[count..capacity); out[0] is the body. Returns the new count.
unsigned find_cold_parts(CodeRange* out, unsigned count, unsigned capacity);

}  // namespace sonde::python
