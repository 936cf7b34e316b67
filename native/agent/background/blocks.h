// Overhead measured in the same run: blocks come in pairs, one with sampling and one without, in random
// order. The Block records (with the CPU time that the program's threads used in each) let the
// analysis compare the program's progress per CPU second with and without sampling. Off means off: the
// kernel's clocks are stopped, not only the handler. CPU time of off blocks becomes a residual, so sums
// stay true.
// Background thread only.
#pragma once

#include <cstdint>

#include "background/stacks.h"
#include "log/writer.h"

namespace sonde {

class Blocks {
 public:
  constexpr Blocks(log::Writer* log, StackWriter* stacks) : log_(log), stacks_(stacks) {}

  void start(uint64_t now_ns);
  void pass(uint64_t now_ns);    // switches when the block is over
  void finish(uint64_t now_ns);  // writes the last one
  bool active() const { return start_ns_ != 0; }
  uint64_t end_ns() const { return end_ns_; }  // when pass() has something to do; 0: never

 private:
  void begin_block(uint64_t now_ns, bool on);
  void write_block(uint64_t now_ns);
  static uint64_t program_cpu_ns();

  log::Writer* log_;
  StackWriter* stacks_;
  uint64_t start_ns_ = 0, end_ns_ = 0, cpu_ns_ = 0;
  uint64_t random_ = 0;
  bool on_ = true, second_ = false;
};

}  // namespace sonde
