// Code bytes of the program, read by guarded copies through a small window. Async-signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/x86_64/decoder/instruction.h"
#include "common/guarded_memory.h"

namespace sonde {

class CodeWindow {
 public:
  // The bytes at pc; *available: how many could be read, enough for any instruction unless the mapping ends there.
  const uint8_t* at(uint64_t pc, size_t* available) {
    if (pc < start_ || pc + kLongestInstruction > start_ + filled_) {
      start_ = pc;
      filled_ = guarded_copy(bytes_, pc, sizeof bytes_);
    }
    *available = filled_ - (pc - start_);
    return bytes_ + (pc - start_);
  }

 private:
  uint8_t bytes_[128];
  uint64_t start_ = 0;
  size_t filled_ = 0;
};

}  // namespace sonde
