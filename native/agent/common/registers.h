// The registers of an interrupted thread that unwinding needs.
// x86-64, DWARF numbering: 0 rax 1 rdx 2 rcx 3 rbx 4 rsi 5 rdi 6 rbp 7 rsp 8..15 r8..r15 16 rip.
#pragma once

#include <cstdint>

namespace sonde {

struct Registers {
  static constexpr unsigned kRbx = 3, kRbp = 6, kSp = 7, kPc = 16, kCount = 17;

  uint64_t value[kCount] = {};
  uint32_t known = 0;  // bit i: value[i] is the thread's real value

  uint64_t pc() const { return value[kPc]; }
  uint64_t sp() const { return value[kSp]; }
  void set(unsigned reg, uint64_t v) {
    value[reg] = v;
    known |= 1u << reg;
  }
};

// The part of memory that a thread's stack may occupy; reads outside it are refused.
struct StackBounds {
  uint64_t low = 0;   // lowest mapped address
  uint64_t high = 0;  // one past the highest
};

}  // namespace sonde
