#include "unwind/rule.h"

#include "unwind/cursor.h"

namespace sonde {
namespace {

// Reads `DW_OP_breg<reg> offset` with an optional DW_OP_deref behind it, and nothing else.
bool is_register_offset(uint64_t at, uint64_t length, bool deref, uint8_t* reg, int64_t* offset) {
  Cursor in{at, at + length, 0};
  const auto opcode = in.fixed<uint8_t>();
  if (opcode < 0x70 || opcode > 0x8f) return false;
  *reg = static_cast<uint8_t>(opcode - 0x70);
  if (*reg >= Registers::kGeneral) return false;
  *offset = in.sleb();
  if (deref && in.fixed<uint8_t>() != 0x06) return false;
  return !in.fault && in.at == in.end;
}

bool fits(int64_t value) { return value > Rule::kLost && value <= INT16_MAX; }

// Puts the rule of one callee-saved register into the compact form; false when it does not fit.
bool compact_register(const FrameRow& row, unsigned slot, Rule* rule) {
  const unsigned reg = Registers::kSaved[slot];
  switch (row.rule[reg]) {
    case RegisterRule::Same: return true;
    case RegisterRule::Undefined:
      rule->saved[slot] = Rule::kLost;
      return true;
    case RegisterRule::AtCfa:
      rule->saved[slot] = static_cast<int16_t>(row.value[reg]);
      return fits(row.value[reg]);
    case RegisterRule::AtExpression: {
      Cursor in{row.base + static_cast<uint64_t>(int64_t{row.value[reg]}), ~uint64_t{0}, 0};
      const uint64_t length = in.uleb();
      uint8_t base;
      int64_t offset;
      if (in.fault || !is_register_offset(in.at, length, false, &base, &offset)) return false;
      rule->from_fp |= static_cast<SlotBits>(1u << slot);
      rule->saved[slot] = static_cast<int16_t>(offset);
      return base == Registers::kFramePointer && fits(offset);
    }
    default: return false;
  }
}

bool compact(const FrameRow& row, Rule* rule) {
  constexpr auto kCompactRegisters = Registers::kCalleeSaved | Registers::bit(Registers::kPc);
  if (kReturnOffset == 0 || row.signal_frame || row.return_register != Registers::kPc) return false;
  if (row.rule[Registers::kPc] != RegisterRule::AtCfa || row.value[Registers::kPc] != kReturnOffset) return false;
  if (row.ruled & ~kCompactRegisters) return false;
  if (row.cfa == CfaRule::Register) {
    if (row.cfa_register >= Registers::kGeneral || row.cfa_offset != static_cast<int32_t>(row.cfa_offset)) return false;
    rule->kind = Rule::Kind::Usual;
    rule->cfa_register = row.cfa_register;
    rule->cfa_offset = static_cast<int32_t>(row.cfa_offset);
  } else {
    int64_t offset;
    if (!is_register_offset(row.base + static_cast<uint64_t>(row.cfa_offset), row.cfa_length, true,
                            &rule->cfa_register, &offset)) {
      return false;
    }
    if (offset != static_cast<int32_t>(offset)) return false;
    rule->kind = Rule::Kind::Deref;
    rule->cfa_offset = static_cast<int32_t>(offset);
  }
  for (unsigned slot = 0; slot < Rule::kSaved; ++slot) {
    if (!compact_register(row, slot, rule)) return false;
  }
  return true;
}

}  // namespace

Rule find_rule(uint64_t pc) {
  FrameRow row;
  Rule rule;
  switch (find_row(pc, &row)) {
    case RowLookup::NoLibrary: rule.kind = Rule::Kind::NoLibrary; return rule;
    case RowLookup::NoEntry: rule.kind = Rule::Kind::NoEntry; return rule;
    case RowLookup::Damaged: rule.kind = Rule::Kind::Damaged; return rule;
    case RowLookup::Found: break;
  }
  if (row.rule[row.return_register] == RegisterRule::Undefined) {
    rule.kind = Rule::Kind::Root;
  } else if (row.cfa == CfaRule::None) {
    rule.kind = Rule::Kind::Damaged;
  } else if (!compact(row, &rule)) {
    rule = Rule{};
    rule.kind = Rule::Kind::Complex;
  }
  return rule;
}

}  // namespace sonde
