// One x86-64 instruction, as far as finding a caller needs it: its length, where control goes, what it
// does to the stack pointer and to values that are moved whole, and which general registers it writes.
// Registers are in hardware order: 0 rax 1 rcx 2 rdx 3 rbx 4 rsp 5 rbp 6 rsi 7 rdi 8..15.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde {

constexpr size_t kLongestInstruction = 15;
constexpr uint8_t kHardwareRsp = 4, kHardwareRbp = 5;

struct Instruction {
  enum class Kind : uint8_t {
    Invalid = 0,   // not an instruction that user code runs, or not known
    Other,         // only `writes` matters
    Push,          // reg, or an unknown value when !has_reg
    Pop,           // into reg, or into memory when !has_reg
    Move,          // reg = base (both whole registers)
    Lea,           // reg = base + displacement
    Load,          // reg = *(base + displacement), 8 bytes
    Store,         // *(base + displacement) = reg, 8 bytes
    AddImmediate,  // reg += displacement
    Exchange,      // reg <-> base
    Leave,
    Call,
    Jump,          // to relative target `displacement` from the end
    JumpIf,        // the same, or on
    JumpAway,      // to a place that only running it would tell
    Return,
    Trap,          // control does not go on: ud2, int3, hlt
  };
  Kind kind = Kind::Invalid;
  uint8_t length = 0;
  uint8_t reg = 0;
  uint8_t base = 0;
  bool has_reg = true;
  uint16_t writes = 0;   // bit i: general register i gets a new value (for kinds that do not say so)
  int64_t displacement = 0;
};

// Async-signal-safe. Decodes the instruction at the start of `bytes`; Invalid when `available` is too short.
Instruction decode_instruction(const uint8_t* bytes, size_t available);

}  // namespace sonde
