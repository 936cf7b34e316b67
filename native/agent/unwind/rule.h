// The usual shape of a row, small enough to be cached per thread: CFA from one register, callee-saved
// registers at fixed places. Nine rows in ten thousand are of another shape and are worked out each time.
#pragma once

#include <cstdint>
#include <type_traits>

#include "unwind/frame_row.h"

namespace sonde {

// One bit for each callee-saved register.
using SlotBits = std::conditional_t<(Registers::kSavedCount <= 8), uint8_t, uint16_t>;

struct alignas(8) Rule {
  enum class Kind : uint8_t {
    Unknown = 0,  // not looked up yet
    Usual,        // CFA = register + offset
    Deref,        // CFA = *(register + offset) + extra
    Complex,      // ask find_row
    Root,         // the thread's first frame
    NoEntry,      // in a library, without unwind information
    NoLibrary,
    Damaged,
  };
  static constexpr unsigned kSaved = Registers::kSavedCount;
  static constexpr int16_t kSame = INT16_MIN, kLost = INT16_MIN + 1;

  Kind kind = Kind::Unknown;
  uint8_t cfa_register = 0;
  SlotBits from_fp = 0;      // bit i: saved[i] is an offset from the frame's own frame pointer, not from the CFA
  SlotBits from_sp = 0;      // bit i: the same from its stack pointer
  int32_t cfa_offset = 0;
  int32_t cfa_extra = 0;     // only for Deref
  int16_t saved[kSaved];     // of Registers::kSaved, in that order

  constexpr Rule() {
    for (int16_t& offset : saved) offset = kSame;
  }
};

// Async-signal-safe. Looks the rule up in the unwind tables.
Rule find_rule(uint64_t pc);

}  // namespace sonde
