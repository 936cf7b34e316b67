// One thread: what the kernel says of it, its native and its Python stack.
#pragma once

#include <cstddef>
#include <cstdint>

#include "python.h"

namespace sonde::dump {

constexpr size_t kMostFrames = 4096;

enum class How : int32_t {
  Waiting = 0,     // in the kernel: read without stopping it
  Stopped = 1,     // ran: was stopped for stop_ns
  NotStopped = 2,  // runs, and could not be stopped (error says why): no native stack
  Gone = 3,
};

// As sonde/live/library.py reads it.
struct ThreadStacks {
  int32_t tid;
  How how;
  int32_t error;
  int32_t native_end;   // WalkEnd
  int64_t system_call;  // -1: none
  uint64_t argument[6];
  uint64_t stop_ns;
  uint32_t native_count, python_count;
  int32_t python_failed;  // the Python stack could not be read whole
  int32_t has_python;
  int32_t holds_gil;
  int32_t moved;        // it went on while it was read: the stack may mix two moments
  uint64_t pc[kMostFrames];
  uint8_t flags[kMostFrames];
  uint32_t code[kMostFrames];
  int32_t instruction[kMostFrames];
  uint8_t entry[kMostFrames];
};

void read_thread(int pid, int tid, const PythonThread* python, ThreadStacks* out);

}  // namespace sonde::dump
