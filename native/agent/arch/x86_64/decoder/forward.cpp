// Reading ahead (unwind/read_ahead.h) in x86-64 code.
#include <cstring>

#include "arch/x86_64/decoder/code_window.h"
#include "arch/x86_64/decoder/instruction.h"
#include "unwind/read_ahead.h"

namespace sonde {
namespace {

constexpr unsigned kMostInstructions = 6000;  // tens of microseconds, once per pc: the rule is cached
constexpr unsigned kMostTurns = 6;            // dead ends that a path may be turned away from
constexpr unsigned kMostStores = 16;
constexpr uint8_t kDwarf[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr uint8_t kHardware[16] = {0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15};  // by DWARF number
constexpr uint16_t kCallClobbers = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 0xf << 8;  // rax rcx rdx rsi rdi r8-r11

// A number known relative to the registers at pc: register + extra, or *(register + inner) + extra.
// From kComputed on, `reg` stands for a stack pointer that was computed on the way (aligned, or lowered by a
// variable size): not known itself, but what is stored relative to it is found again.
constexpr uint8_t kComputed = 16;

struct Place {
  uint8_t reg = 0;
  bool deref = false;
  int32_t inner = 0;
  int32_t extra = 0;

  bool same_root(const Place& other) const {
    return reg == other.reg && deref == other.deref && (!deref || inner == other.inner);
  }
};

struct Value {
  enum class Kind : uint8_t { Unknown, Number, Contents } kind = Kind::Unknown;
  Place place;  // Number: the value itself; Contents: the address whose 8 bytes are the value
};

// Conditional jumps that lead to a dead end when taken by the usual preference; the next try takes them
// the other way.
struct Turns {
  uint64_t at[kMostTurns];
  unsigned count = 0;

  bool has(uint64_t pc) const {
    for (unsigned i = 0; i < count; ++i) {
      if (at[i] == pc) return true;
    }
    return false;
  }
};

class ReadAhead {
 public:
  ReadAhead(const Turns& turns, CodeRuns* runs) : turns_(turns), runs_(runs) {
    for (uint8_t r = 0; r < 16; ++r) {
      value_[r].kind = Value::Kind::Number;
      value_[r].place.reg = r;
    }
  }

  uint64_t last_choice() const { return last_choice_; }
  bool joined() const { return joined_; }

  // The last instruction on the straight way from the start at which the rule still holds.
  uint64_t run_end(const Rule& rule) const {
    uint64_t end = line_end_;
    for (uint16_t bases = bases_of(rule) & written_, r = 0; bases; ++r, bases >>= 1) {
      if ((bases & 1) && first_write_[r] < end) end = first_write_[r];
    }
    return end;
  }

  bool run(uint64_t pc, Rule* rule) {
    const uint64_t start = pc;
    unsigned backward_jumps = 0;
    bool after_call = false;
    bool line = true;  // no jump so far, and nothing that saves or restores a register
    for (unsigned count = 0; count < kMostInstructions; ++count) {
      size_t available;
      const uint8_t* bytes = code_.at(pc, &available);
      // Padding behind a call: the call does not return, what follows is another function.
      if (after_call && available >= 4 && is_padding(bytes)) return false;
      if (line) {
        line_end_ = pc;
        // Looking for a known run at every instruction would cost more than it saves.
        const unsigned known = runs_ && count % 8 == 0 ? runs_->find(pc) : CodeRuns::kRuns;
        if (known < CodeRuns::kRuns && runs_->run[known].rule.kind != Rule::Kind::Damaged &&
            !(bases_of(runs_->run[known].rule) & written_)) {
          *rule = runs_->run[known].rule;
          runs_->extend(known, start);
          joined_ = true;
          return true;
        }
      }
      const Instruction one = decode_instruction(bytes, available);
      const uint64_t here = pc;
      if (line) note_writes(one, here);
      if (saves_or_restores(one)) line = false;
      after_call = one.kind == Instruction::Kind::Call;
      pc += one.length;
      switch (one.kind) {
        case Instruction::Kind::Invalid:
        case Instruction::Kind::Trap:
        case Instruction::Kind::JumpAway: return false;
        case Instruction::Kind::Return: return finish(rule);
        case Instruction::Kind::Jump:
          if (one.displacement < 0 && ++backward_jumps > 8) return false;
          pc += static_cast<uint64_t>(one.displacement);
          line = false;
          break;
        case Instruction::Kind::JumpIf: {
          forget(one.writes);
          // Forward jumps skip code and leave loops; backward ones only repeat.
          bool take = one.displacement > 0;
          if (!turns_.has(here)) last_choice_ = here; else take = !take;
          if (one.displacement < 0 && !take) leave_loop(pc + static_cast<uint64_t>(one.displacement), here);
          if (take) {
            pc += static_cast<uint64_t>(one.displacement);
            line = false;
          }
          break;
        }
        default: execute(one, here); break;
      }
    }
    return false;
  }

 private:
  static bool saves_or_restores(const Instruction& one) {
    switch (one.kind) {
      case Instruction::Kind::Push:
      case Instruction::Kind::Pop:
      case Instruction::Kind::Leave: return true;
      case Instruction::Kind::Store: return one.base == kHardwareRsp || one.base == kHardwareRbp;
      default: return false;
    }
  }

  static uint16_t writes_of(const Instruction& one) {
    switch (one.kind) {
      case Instruction::Kind::Move:
      case Instruction::Kind::Lea:
      case Instruction::Kind::Load:
      case Instruction::Kind::AddImmediate: return static_cast<uint16_t>(1u << one.reg);
      case Instruction::Kind::Exchange: return static_cast<uint16_t>(1u << one.reg | 1u << one.base);
      case Instruction::Kind::Call: return kCallClobbers;
      default: return one.writes;
    }
  }

  // The registers (in hardware order) that a rule starts from: a write to one of them ends it.
  static uint16_t bases_of(const Rule& rule) {
    unsigned bases = 1u << kHardware[rule.cfa_register & 15];
    if (rule.from_fp) bases |= 1u << kHardwareRbp;
    if (rule.from_sp) bases |= 1u << kHardwareRsp;
    return static_cast<uint16_t>(bases);
  }

  void note_writes(const Instruction& one, uint64_t here) {
    const uint16_t fresh = static_cast<uint16_t>(writes_of(one) & ~written_);
    for (unsigned r = 0, left = fresh; left; ++r, left >>= 1) {
      if (left & 1) first_write_[r] = here;
    }
    written_ |= fresh;
  }

  static bool is_padding(const uint8_t* b) {
    return b[0] == 0xcc || b[0] == 0x90 || (b[0] == 0x0f && b[1] == 0x1f) || (b[0] == 0x66 && b[1] == 0x90) ||
           (b[0] == 0x66 && (b[1] == 0x0f || b[1] == 0x2e || b[1] == 0x66));
  }

  void forget(uint16_t registers) {
    for (unsigned r = 0; registers; ++r, registers >>= 1) {
      if (!(registers & 1)) continue;
      if (r == kHardwareRsp && computed_ < UINT8_MAX) {
        value_[r].kind = Value::Kind::Number;
        value_[r].place = {computed_++, false, 0, 0};
      } else {
        value_[r].kind = Value::Kind::Unknown;
      }
    }
  }

  // Constants are added along the path; leave_loop takes back what a loop may have repeated.
  void add(uint8_t reg, int64_t amount, uint64_t here) {
    Value& value = value_[reg];
    if (value.kind == Value::Kind::Number) value.place.extra += amount;
    else value.kind = Value::Kind::Unknown;
    added_at_[reg] = here;
  }

  // The path goes on behind the loop [start, end], whose rounds are not counted: a register that was
  // stepped in it is unknown now. The stack pointer is not: loops leave it as they found it.
  void leave_loop(uint64_t start, uint64_t end) {
    for (uint8_t r = 0; r < 16; ++r) {
      if (r != kHardwareRsp && added_at_[r] >= start && added_at_[r] <= end) {
        value_[r].kind = Value::Kind::Unknown;
      }
    }
  }

  Value load(const Value& address, int64_t displacement) const {
    Value result;
    if (address.kind != Value::Kind::Number) return result;
    Place place = address.place;
    place.extra += displacement;
    for (unsigned i = stores_; i-- > 0;) {
      if (store_[i].at.same_root(place) && store_[i].at.extra == place.extra) return store_[i].value;
    }
    if (place.reg >= kComputed) return result;
    if (place.deref) {
      result.kind = Value::Kind::Contents;
      result.place = place;
    } else {
      result.kind = Value::Kind::Number;
      result.place = {place.reg, true, place.extra, 0};
    }
    return result;
  }

  void store(const Value& address, int64_t displacement, const Value& value) {
    if (address.kind != Value::Kind::Number) return;  // not a frame slot: assumed to be data
    Place place = address.place;
    place.extra += displacement;
    for (unsigned i = 0; i < stores_; ++i) {
      if (store_[i].at.same_root(place) && store_[i].at.extra == place.extra) {
        store_[i].value = value;
        return;
      }
    }
    if (stores_ == kMostStores) {  // forget the oldest: it is the least likely to be popped next
      memmove(store_, store_ + 1, sizeof(Stored) * (kMostStores - 1));
      --stores_;
    }
    store_[stores_++] = {place, value};
  }

  void move_stack(int64_t bytes) {
    Value& sp = value_[kHardwareRsp];
    if (sp.kind == Value::Kind::Number) sp.place.extra += bytes;
  }

  void execute(const Instruction& one, uint64_t here) {
    Value& sp = value_[kHardwareRsp];
    switch (one.kind) {
      case Instruction::Kind::Push:
        move_stack(-8);
        store(sp, 0, one.has_reg ? value_[one.reg] : Value{});
        break;
      case Instruction::Kind::Pop: {
        const Value popped = load(sp, 0);
        move_stack(8);
        if (one.has_reg) value_[one.reg] = popped;
        break;
      }
      case Instruction::Kind::Move: value_[one.reg] = value_[one.base]; break;
      case Instruction::Kind::Load: value_[one.reg] = load(value_[one.base], one.displacement); break;
      case Instruction::Kind::Store: store(value_[one.base], one.displacement, value_[one.reg]); break;
      case Instruction::Kind::Lea:
        if (one.reg != one.base) value_[one.reg] = value_[one.base];
        add(one.reg, one.displacement, here);
        break;
      case Instruction::Kind::AddImmediate: add(one.reg, one.displacement, here); break;
      case Instruction::Kind::Exchange: {
        const Value other = value_[one.reg];
        value_[one.reg] = value_[one.base];
        value_[one.base] = other;
        break;
      }
      case Instruction::Kind::Leave:
        sp = value_[kHardwareRbp];
        value_[kHardwareRbp] = load(sp, 0);
        move_stack(8);
        break;
      case Instruction::Kind::Call: forget(kCallClobbers); break;
      default: forget(one.writes); break;
    }
  }

  bool finish(Rule* rule) const {
    const Value& sp = value_[kHardwareRsp];
    if (sp.kind != Value::Kind::Number || sp.place.reg >= kComputed) return false;
    const Place& at = sp.place;  // where the return address is
    *rule = Rule{};
    rule->cfa_register = kDwarf[at.reg];
    if (at.deref) {
      rule->kind = Rule::Kind::Deref;
      rule->cfa_offset = static_cast<int32_t>(at.inner);
      rule->cfa_extra = static_cast<int32_t>(at.extra + 8);
      if (rule->cfa_offset != at.inner || rule->cfa_extra != at.extra + 8) return false;
    } else {
      rule->kind = Rule::Kind::Usual;
      rule->cfa_offset = static_cast<int32_t>(at.extra + 8);
      if (rule->cfa_offset != at.extra + 8) return false;
      // A return address below the stack pointer: the path left the function.
      if (at.reg == kHardwareRsp && at.extra < 0) return false;
    }
    for (unsigned slot = 0; slot < Rule::kSaved; ++slot) restore(slot, at, rule);
    return true;
  }

  // How the value that register `slot` has at the `ret` is found from the registers at pc.
  void restore(unsigned slot, const Place& return_address, Rule* rule) const {
    const uint8_t reg = kHardware[Registers::kSaved[slot]];
    const Value& value = value_[reg];
    rule->saved[slot] = Rule::kLost;
    Place from = value.place;
    if (value.kind == Value::Kind::Unknown) return;
    if (value.kind == Value::Kind::Number) {
      if (!from.deref) {
        if (from.reg == reg && from.extra == 0) rule->saved[slot] = Rule::kSame;
        return;
      }
      if (from.extra != 0) return;
      from = {from.reg, false, 0, from.inner};  // the address that was loaded
    }
    int64_t offset = from.extra;
    if (from.same_root(return_address)) {
      offset -= return_address.extra + 8;
    } else if (!from.deref && from.reg == kHardwareRbp) {
      rule->from_fp |= static_cast<SlotBits>(1u << slot);
    } else if (!from.deref && from.reg == kHardwareRsp) {
      rule->from_sp |= static_cast<SlotBits>(1u << slot);
    } else {
      return;
    }
    if (offset <= Rule::kLost || offset > INT16_MAX) {
      rule->from_fp &= static_cast<SlotBits>(~(1u << slot));
      rule->from_sp &= static_cast<SlotBits>(~(1u << slot));
      return;
    }
    rule->saved[slot] = static_cast<int16_t>(offset);
  }

  struct Stored {
    Place at;
    Value value;
  };

  const Turns& turns_;
  CodeRuns* const runs_;
  uint64_t line_end_ = 0;      // last instruction before the way turns or a register is saved or restored
  uint64_t first_write_[16];  // on that way, for the registers in written_
  uint16_t written_ = 0;
  bool joined_ = false;       // the path came into a known run
  uint64_t last_choice_ = 0;  // the last conditional jump that was taken by preference
  Value value_[16];
  Stored store_[kMostStores];
  unsigned stores_ = 0;
  uint8_t computed_ = kComputed;
  uint64_t added_at_[16] = {};  // where a constant was last added to the register
  CodeWindow code_;
};

}  // namespace

bool rule_by_reading_ahead(uint64_t pc, CodeRuns* runs, Rule* rule) {
  if (runs) {
    const unsigned known = runs->find(pc);
    if (known < CodeRuns::kRuns) {
      *rule = runs->run[known].rule;
      return rule->kind != Rule::Kind::Damaged;
    }
  }
  Turns turns;
  for (;;) {
    ReadAhead path(turns, runs);
    if (path.run(pc, rule)) {
      if (runs && !path.joined()) runs->add(pc, path.run_end(*rule), *rule);
      return true;
    }
    if (turns.count == kMostTurns || path.last_choice() == 0) break;
    turns.at[turns.count++] = path.last_choice();
  }
  Rule none;
  none.kind = Rule::Kind::Damaged;
  if (runs) runs->add(pc, pc, none);
  return false;
}

}  // namespace sonde
