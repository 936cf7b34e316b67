#include "unwind/step.h"

#include "common/guarded_memory.h"
#include "unwind/cursor.h"
#include "unwind/expression.h"

namespace sonde {
namespace {

Step failed(WalkEnd why) {
  Step step;
  step.why = why;
  return step;
}

bool is_known(const Registers& registers, unsigned reg) { return registers.known >> reg & 1; }

// A value that the walk loads from the stack; anything outside the window is refused.
bool load(const StackWindow& window, uint64_t address, uint64_t* value) {
  if (!window.holds(address)) return false;
  uint32_t fault = 0;
  *value = guarded_load<uint64_t>(address, &fault);
  return !fault;
}

}  // namespace

Step apply_rule(const Rule& rule, const StackWindow& window, Registers* registers) {
  if (!is_known(*registers, rule.cfa_register)) return failed(WalkEnd::BadCfa);
  uint64_t cfa = registers->value[rule.cfa_register] + static_cast<uint64_t>(int64_t{rule.cfa_offset});
  if (rule.kind == Rule::Kind::Deref) {
    if (!load(window, cfa, &cfa)) return failed(WalkEnd::BadCfa);
    cfa += static_cast<uint64_t>(int64_t{rule.cfa_extra});
  }
  uint64_t pc;
  if (cfa <= registers->sp() && !window.leads_home(cfa - 8)) return failed(WalkEnd::BadCfa);
  if (!load(window, cfa + static_cast<uint64_t>(kReturnOffset), &pc)) return failed(WalkEnd::BadCfa);
  const uint64_t fp = registers->value[Registers::kFramePointer], sp = registers->sp();
  Registers::Set known = registers->known & Registers::kCalleeSaved;
  for (unsigned slot = 0; slot < Rule::kSaved; ++slot) {
    if (rule.saved[slot] == Rule::kSame) continue;
    const unsigned reg = Registers::kSaved[slot];
    const uint64_t base = rule.from_fp >> slot & 1 ? fp : rule.from_sp >> slot & 1 ? sp : cfa;
    uint64_t value;
    // A register that cannot be restored is forgotten; only a frame that needs it will fail.
    if (rule.saved[slot] != Rule::kLost &&
        load(window, base + static_cast<uint64_t>(int64_t{rule.saved[slot]}), &value)) {
      registers->value[reg] = value;
      known |= Registers::bit(reg);
    } else {
      known &= ~Registers::bit(reg);
    }
  }
  registers->known = known;
  registers->set(Registers::kSp, cfa);
  registers->set(Registers::kPc, pc);
  Step step;
  step.outcome = Step::Outcome::Moved;
  step.cfa = cfa;
  return step;
}

Step apply_row(uint64_t lookup_pc, const StackWindow& window, Registers* registers) {
  FrameRow row;
  if (find_row(lookup_pc, &row) != RowLookup::Found) return failed(WalkEnd::BadRule);
  uint64_t cfa;
  if (row.cfa == CfaRule::Register) {
    if (row.cfa_register >= Registers::kGeneral || !is_known(*registers, row.cfa_register)) return failed(WalkEnd::BadCfa);
    cfa = registers->value[row.cfa_register] + static_cast<uint64_t>(row.cfa_offset);
  } else if (!evaluate_expression(row.base + static_cast<uint64_t>(row.cfa_offset), row.cfa_length, *registers,
                                  false, 0, &cfa)) {
    return failed(WalkEnd::BadRule);
  }
  Registers caller;
  // A signal frame restores every register; any other frame keeps only the callee-saved ones.
  caller = *registers;
  caller.known &= Registers::kCalleeSaved;
  caller.set(Registers::kSp, cfa);
  for (unsigned reg = 0; reg < Registers::kCount; ++reg) {
    if (!(row.ruled >> reg & 1)) continue;
    const auto offset = static_cast<uint64_t>(int64_t{row.value[reg]});
    uint64_t value = 0;
    uint32_t fault = 0;
    bool ok = false;
    switch (row.rule[reg]) {
      case RegisterRule::Same: continue;
      case RegisterRule::Undefined: break;
      case RegisterRule::AtCfa: ok = load(window, cfa + offset, &value); break;
      case RegisterRule::CfaPlus: value = cfa + offset; ok = true; break;
      case RegisterRule::InRegister:
        ok = offset < Registers::kCount && is_known(*registers, static_cast<unsigned>(offset));
        if (ok) value = registers->value[offset];
        break;
      case RegisterRule::AtExpression:
      case RegisterRule::IsExpression: {
        Cursor in{row.base + offset, ~uint64_t{0}, 0};
        const uint64_t length = in.uleb();
        ok = !in.fault && evaluate_expression(in.at, length, *registers, true, cfa, &value);
        if (ok && row.rule[reg] == RegisterRule::AtExpression) {
          value = guarded_load<uint64_t>(value, &fault);
          ok = !fault;
        }
        break;
      }
    }
    if (ok) caller.set(reg, value); else caller.known &= ~Registers::bit(reg);
  }
  if (row.return_register != Registers::kPc && is_known(caller, row.return_register)) {
    caller.set(Registers::kPc, caller.value[row.return_register]);
  }
  if (!is_known(caller, Registers::kPc) || !is_known(caller, Registers::kSp)) return failed(WalkEnd::BadCfa);
  *registers = caller;
  Step step;
  step.outcome = Step::Outcome::Moved;
  step.interrupted_caller = row.signal_frame;
  step.cfa = cfa;
  return step;
}

}  // namespace sonde
