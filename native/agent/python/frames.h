// Python stacks, read from the interpreter's own structures without its help.
// No Python header is used: layouts are tables by version (layout_*.cpp), and
// from 3.13 on the interpreter's `_Py_DebugOffsets`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "log/writer.h"
#include "unwind/unwind.h"

namespace sonde {

struct PythonFrame {
  uint32_t code;        // number in the code table (see code_table.h); 0 when it could not be read
  int32_t instruction;  // byte offset of the instruction in the code object, -1 unknown
  uint64_t self;        // pointer of `self` when the frame is nn.Module's call path, else 0
  uint64_t place;       // of the frame in memory; for the walk itself
  bool entry;           // first Python frame of an interpreter call: one native eval frame each
};

// A frame as its thread had it at an earlier moment: enough to name it later, as long as its code lives.
struct PythonPlace {
  uint64_t code;        // address
  uint64_t local;       // the frame's first local: `self` of a module's call, if it is one
  int32_t instruction;
  bool entry;
};

struct PythonWalk {
  uint16_t count = 0;
  bool truncated = false;
  bool failed = false;  // a structure could not be read or made no sense: frames up to there are kept
};

// Not async-signal-safe. Finds the interpreter (if any) and its layout. Called at start and
// again by the background thread until found; cheap when there is nothing to find.
// False with *why set (static text): there is one that cannot be read. True with an empty
// python_version(): there is none (yet).
bool python_attach(const char** why);
const char* python_refusal();  // what python_attach said of an interpreter that cannot be read, else null
const char* python_version();  // "3.11.7", or "" when there is no interpreter

// Async-signal-safe. The calling thread's interpreter state, null when it has none.
void* python_thread_state();

// Async-signal-safe. Leaf first. Works on another thread's state while that thread is
// stopped or waits for us (pool owner), and on a running one with `failed` possible.
PythonWalk python_walk(void* thread_state, PythonFrame* out, size_t capacity);

// Async-signal-safe. The calling thread's frames (or those of a thread that waits for it), leaf first: a few
// loads each, nothing is named. And naming them later; `failed`: some code is gone by then.
uint32_t python_places(void* thread_state, PythonPlace* out, uint32_t capacity, bool* truncated);
PythonWalk python_name_places(const PythonPlace* places, uint32_t count, PythonFrame* out, size_t capacity);

// Async-signal-safe. A stack address inside the innermost interpreter frame, or 0.
Anchor python_anchor(void* thread_state, const StackBounds& stack);

// Async-signal-safe. Is pc inside the interpreter's evaluation function?
bool python_is_eval(uint64_t pc);

// Not async-signal-safe. Called by the background thread for a code number that a written stack uses.
void python_want_code(uint32_t code);

// Not async-signal-safe. Called by the background thread after each drain: appends Code records for the
// wanted numbers that are not in this process's log yet.
void python_write_codes(log::Writer& log);

// Not async-signal-safe. With a new session of the log: codes are written again when they are used.
void python_forget_written();

}  // namespace sonde
