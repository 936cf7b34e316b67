// The interpreter in this process: where it is, which version, how its structures lie.
#pragma once

#include <cstdint>

#include "python/layout.h"

namespace sonde {
// Not async-signal-safe. For dlsym: the library that holds the interpreter, null: there is none.
void* python_library();
}  // namespace sonde

namespace sonde::python {

constexpr unsigned kMaxEvalRanges = 4;

struct CodeRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct Interpreter {
  Layout layout{};
  char version[32] = "";
  void* (*this_thread_state)() = nullptr;  // PyGILState_GetThisThreadState
  uint64_t code_type = 0;                  // address of PyCode_Type
  uint64_t cell_type = 0;                  // address of PyCell_Type
  CodeRange eval[kMaxEvalRanges];          // the evaluation function and its split-off cold parts
  unsigned eval_ranges = 0;
};

// Async-signal-safe. Null until python_attach succeeded.
const Interpreter* interpreter();

}  // namespace sonde::python
