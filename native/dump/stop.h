// One thread of another process, stopped for as long as the object lives: its registers can be read, and its stack
// does not change. Nothing is written to it. On every way out it goes on.
#pragma once

#include "arch/arch.h"

namespace sonde::dump {

class Stop {
 public:
  // Waits at most some milliseconds for a thread that runs.
  explicit Stop(int tid);
  ~Stop();
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  int error() const { return error_; }  // 0: it is stopped
  bool registers(Registers* out) const;

 private:
  const int tid_;
  int error_ = 0;
  long signal_ = 0;  // came first, and is handed on
};

// Lets go of threads that did not stop in time and have since. They go on in any case when this process ends.
void let_go_of_late_ones();

}  // namespace sonde::dump
