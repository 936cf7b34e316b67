// Code for the program's interpreter, run on a thread of its own: the GIL may be long in coming, and whoever waits for it
// can neither drain nor answer. Not async-signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde {

enum class PythonAnswer : uint8_t { Said, NoInterpreter, Failed, TooLong };

// Runs `code` with fresh globals; what it leaves in the variable `answer` comes back as text. After `limit_ms` it is given
// up: code that has not begun by then never will.
PythonAnswer call_python(const char* code, size_t size, uint32_t limit_ms, char* out, size_t capacity);

}  // namespace sonde
