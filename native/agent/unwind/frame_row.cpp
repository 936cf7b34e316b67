// Runs the call-frame programs of a CIE and an FDE up to one pc: the lazy heart of unwinding.
// Nothing is computed ahead of time; a library of 335,000 entries costs no memory and no start-up.
#include "unwind/frame_row.h"

#include "unwind/cursor.h"
#include "unwind/frame_description.h"

namespace sonde {
namespace {

// Compilers nest remember_state once or twice; deeper programs are refused, not misread.
constexpr unsigned kRememberDepth = 6;

class FrameProgram {
 public:
  FrameProgram(const FrameDescription& entry, uint64_t pc, FrameRow* row)
      : entry_(entry), pc_(pc), row_(*row) {}

  bool run() {
    row_ = FrameRow{};
    row_.base = entry_.cie;
    row_.signal_frame = entry_.signal_frame;
    row_.return_register = entry_.return_register;
    if (kReturnOffset) set(entry_.return_register, RegisterRule::AtCfa, kReturnOffset);
    // The CIE's program has no locations: it must run whole.
    if (!execute(entry_.initial_at, entry_.initial_end, ~uint64_t{0})) return false;
    initial_ = row_;
    location_ = entry_.code_low;
    return execute(entry_.program_at, entry_.program_end, pc_);
  }

 private:
  void set(uint64_t reg, RegisterRule rule, int64_t value) {
    if (reg >= Registers::kCount) return;  // vector registers: not needed to walk
    if (value != static_cast<int32_t>(value)) {
      unsupported_ = true;
      return;
    }
    row_.rule[reg] = rule;
    row_.value[reg] = static_cast<int32_t>(value);
    if (rule == RegisterRule::Same) row_.ruled &= ~Registers::bit(static_cast<unsigned>(reg));
    else row_.ruled |= Registers::bit(static_cast<unsigned>(reg));
  }

  void restore(uint64_t reg) {
    if (reg < Registers::kCount) set(reg, initial_.rule[reg], initial_.value[reg]);
  }

  void set_expression(uint64_t reg, RegisterRule rule, Cursor* cursor) {
    const uint64_t start = cursor->at;  // the length stays in front of it
    cursor->skip(cursor->uleb());
    set(reg, rule, static_cast<int64_t>(start - entry_.cie));
  }

  // True while the row in force at `pc` may still change.
  bool advance(uint64_t delta, uint64_t pc) {
    location_ += delta * entry_.code_alignment;
    return location_ <= pc;
  }

  bool execute(uint64_t at, uint64_t end, uint64_t pc);

  const FrameDescription& entry_;
  const uint64_t pc_;
  FrameRow& row_;
  FrameRow initial_;
  FrameRow remembered_[kRememberDepth];
  unsigned depth_ = 0;
  uint64_t location_ = 0;
  bool unsupported_ = false;
};

bool FrameProgram::execute(uint64_t at, uint64_t end, uint64_t pc) {
  Cursor in{at, end, 0};
  const int64_t scale = entry_.data_alignment;
  while (!in.done()) {
    const auto opcode = in.fixed<uint8_t>();
    const uint8_t low = opcode & 0x3f;
    switch (opcode >> 6) {
      case 1:  // advance_loc
        if (!advance(low, pc)) return !in.fault && !unsupported_;
        continue;
      case 2:  // offset
        set(low, RegisterRule::AtCfa, static_cast<int64_t>(in.uleb()) * scale);
        continue;
      case 3: restore(low); continue;
      default: break;
    }
    uint64_t reg;
    switch (opcode) {
      case 0x00: break;  // nop
      case 0x01:         // set_loc
        location_ = in.pointer(entry_.pointer_encoding, 0);
        if (location_ > pc) return !in.fault && !unsupported_;
        break;
      case 0x02:
        if (!advance(in.fixed<uint8_t>(), pc)) return !in.fault && !unsupported_;
        break;
      case 0x03:
        if (!advance(in.fixed<uint16_t>(), pc)) return !in.fault && !unsupported_;
        break;
      case 0x04:
        if (!advance(in.fixed<uint32_t>(), pc)) return !in.fault && !unsupported_;
        break;
      case 0x05:  // offset_extended
        reg = in.uleb();
        set(reg, RegisterRule::AtCfa, static_cast<int64_t>(in.uleb()) * scale);
        break;
      case 0x06: restore(in.uleb()); break;
      case 0x07: set(in.uleb(), RegisterRule::Undefined, 0); break;
      case 0x08: set(in.uleb(), RegisterRule::Same, 0); break;
      case 0x09:  // register
        reg = in.uleb();
        set(reg, RegisterRule::InRegister, static_cast<int64_t>(in.uleb()));
        break;
      case 0x0a:  // remember_state
        if (depth_ == kRememberDepth) return false;
        remembered_[depth_++] = row_;
        break;
      case 0x0b:  // restore_state
        if (depth_ == 0) return false;
        row_ = remembered_[--depth_];
        break;
      case 0x0c:  // def_cfa
        row_.cfa = CfaRule::Register;
        row_.cfa_register = static_cast<uint8_t>(in.uleb());
        row_.cfa_offset = static_cast<int64_t>(in.uleb());
        break;
      case 0x0d:  // def_cfa_register
        row_.cfa = CfaRule::Register;
        row_.cfa_register = static_cast<uint8_t>(in.uleb());
        break;
      case 0x0e: row_.cfa_offset = static_cast<int64_t>(in.uleb()); break;
      case 0x0f: {  // def_cfa_expression
        row_.cfa = CfaRule::Expression;
        const uint64_t length = in.uleb();
        row_.cfa_length = static_cast<uint32_t>(length);
        row_.cfa_offset = static_cast<int64_t>(in.at - entry_.cie);
        in.skip(length);
        break;
      }
      case 0x10:
        reg = in.uleb();
        set_expression(reg, RegisterRule::AtExpression, &in);
        break;
      case 0x11:  // offset_extended_sf
        reg = in.uleb();
        set(reg, RegisterRule::AtCfa, in.sleb() * scale);
        break;
      case 0x12:  // def_cfa_sf
        row_.cfa = CfaRule::Register;
        row_.cfa_register = static_cast<uint8_t>(in.uleb());
        row_.cfa_offset = in.sleb() * scale;
        break;
      case 0x13: row_.cfa_offset = in.sleb() * scale; break;
      case 0x14:  // val_offset
        reg = in.uleb();
        set(reg, RegisterRule::CfaPlus, static_cast<int64_t>(in.uleb()) * scale);
        break;
      case 0x15:  // val_offset_sf
        reg = in.uleb();
        set(reg, RegisterRule::CfaPlus, in.sleb() * scale);
        break;
      case 0x16:
        reg = in.uleb();
        set_expression(reg, RegisterRule::IsExpression, &in);
        break;
      case 0x2e: in.uleb(); break;  // GNU_args_size
      case 0x2f:                    // GNU_negative_offset_extended
        reg = in.uleb();
        set(reg, RegisterRule::AtCfa, -static_cast<int64_t>(in.uleb()) * scale);
        break;
      default: return false;
    }
  }
  return !in.fault && !unsupported_;
}

}  // namespace

RowLookup find_row(uint64_t pc, FrameRow* row) {
  uint64_t header = 0, map_start, map_end;
  if (!find_library(pc, &header, &map_start, &map_end)) return RowLookup::NoLibrary;
  if (header == 0) return RowLookup::NoEntry;
  const uint64_t fde = search_frame_header(header, pc);
  if (fde == 0) return RowLookup::NoEntry;
  FrameDescription entry;
  if (!read_frame_description(fde, &entry)) return RowLookup::Damaged;
  if (pc < entry.code_low || pc >= entry.code_high) return RowLookup::NoEntry;
  FrameProgram program(entry, pc, row);
  return program.run() ? RowLookup::Found : RowLookup::Damaged;
}

}  // namespace sonde
