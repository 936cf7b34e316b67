// The interpreter of the process that is looked at: its version, its threads, who holds its lock.
#pragma once

#include <cstdint>
#include <vector>

namespace sonde::dump {

struct PythonThread {
  uint64_t state = 0;
  int tid = 0;
  bool holds_gil = false;
};

struct PythonProcess {
  unsigned minor = 0;          // 0: there is no interpreter
  const char* why = nullptr;   // there is one that cannot be read
  bool gil_known = false;
};

// After read_libraries. Finds the interpreter.
PythonProcess find_python();
void forget_python();

// As they are now.
std::vector<PythonThread> python_threads();

}  // namespace sonde::dump
