// Keeps what a collective of gloo does on gloo's threads out of torch's profiler while a window of Sonde's is open.
//
// torch ends the profiler's record of such a collective on gloo's thread, after the program was told that the collective
// is done, and what that thread still runs is recorded with it. Should the window be closed by then, its records are
// freed, and torch writes into freed memory: a rank of a busy job died of that. So a collective that is made in a window
// of ours gets no record (its times are in steps/collectives.cpp); one that the program's own profiler sees is as ever.
#pragma once

namespace sonde {

class Unprofiled {
 public:
  explicit Unprofiled(void* caller);  // an address in torch
  ~Unprofiled();
  Unprofiled(const Unprofiled&) = delete;
  Unprofiled& operator=(const Unprofiled&) = delete;

 private:
  void* const caller_;
  const bool was_enabled_;
};

}  // namespace sonde
