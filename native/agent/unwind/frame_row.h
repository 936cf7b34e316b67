// One row of a call-frame table: how to find the caller's registers from a given pc.
#pragma once

#include <cstdint>

#include "arch/arch.h"

namespace sonde {

enum class RegisterRule : uint8_t {
  Same = 0,        // the callee did not change it
  Undefined,       // lost; for the return address: there is no caller
  AtCfa,           // saved at CFA + value
  CfaPlus,         // is CFA + value
  InRegister,      // is in register `value`
  AtExpression,    // saved at the address that an expression gives
  IsExpression,    // is what an expression gives
};

enum class CfaRule : uint8_t { None = 0, Register, Expression };

struct FrameRow {
  CfaRule cfa = CfaRule::None;
  bool signal_frame = false;     // the caller was interrupted: its pc is exact
  uint8_t return_register = Registers::kPc;
  uint8_t cfa_register = 0;
  int64_t cfa_offset = 0;        // or, for Expression, its address relative to `base`
  uint32_t cfa_length = 0;
  Registers::Set ruled = 0;            // bit i: rule[i] is not Same
  RegisterRule rule[Registers::kCount] = {};
  int32_t value[Registers::kCount] = {};  // offset, register, or start of an expression relative to `base`
  uint64_t base = 0;             // address that expression positions are relative to (the CIE)
};

// Async-signal-safe. Finds the row for pc in the unwind information of the library that holds it.
enum class RowLookup : uint8_t {
  Found,
  NoLibrary,   // pc is in no loaded library
  NoEntry,     // the library has no unwind information for pc
  Damaged,     // unreadable, or of a form that is not understood
};
RowLookup find_row(uint64_t pc, FrameRow* row);

// Async-signal-safe. True when pc lies in a loaded library; sets where its .eh_frame_hdr is (0: none).
bool find_library(uint64_t pc, uint64_t* eh_frame_hdr, uint64_t* map_start, uint64_t* map_end);

}  // namespace sonde
