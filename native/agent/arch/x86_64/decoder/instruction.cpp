#include "arch/x86_64/decoder/instruction.h"

#include <cstring>

#include "arch/x86_64/decoder/opcode_map.h"

namespace sonde {
namespace {

using opcode::Writes;
using Kind = Instruction::Kind;

class Decoder {
 public:
  Decoder(const uint8_t* bytes, size_t available) : bytes_(bytes), available_(available) {}

  Instruction run() {
    prefixes();
    const uint8_t op = next();
    if (short_) return {};
    if (op == 0xc5 || op == 0xc4 || op == 0x62) vector(op);
    else if (op == 0x0f) two_byte();
    else one_byte(op);
    if (short_ || at_ > kLongestInstruction) return {};
    out_.length = static_cast<uint8_t>(at_);
    return out_;
  }

 private:
  uint8_t next() {
    if (at_ >= available_) {
      short_ = true;
      return 0;
    }
    return bytes_[at_++];
  }

  int64_t immediate(unsigned size) {
    if (available_ < at_ || available_ - at_ < size) {
      short_ = true;
      return 0;
    }
    int64_t value = 0;
    if (size == 1) value = static_cast<int8_t>(bytes_[at_]);
    else if (size == 2) value = static_cast<int16_t>(bytes_[at_] | bytes_[at_ + 1] << 8);
    else if (size == 4) { int32_t v; memcpy(&v, bytes_ + at_, 4); value = v; }
    else if (size == 8) memcpy(&value, bytes_ + at_, 8);
    at_ += size;
    return value;
  }

  void prefixes() {
    for (;;) {
      const uint8_t b = at_ < available_ ? bytes_[at_] : 0;
      if (b == 0x66) operand_size_ = true;
      else if (b == 0x67) address_size_ = true;
      else if (b == 0xf3) f3_ = true;
      else if (b == 0xf2) f2_ = true;
      else if (b == 0x64 || b == 0x65) segment_ = true;
      else if (b != 0x2e && b != 0x36 && b != 0x3e && b != 0x26 && b != 0xf0) break;
      if (++at_ > kLongestInstruction) {
        short_ = true;
        return;
      }
    }
    if (at_ < available_ && (bytes_[at_] & 0xf0) == 0x40) rex_ = bytes_[at_++];
  }

  bool rex_w() const { return rex_ & 8; }

  // Reads ModRM, SIB and displacement.
  void modrm() {
    const uint8_t b = next();
    mod_ = b >> 6;
    extension_ = b >> 3 & 7;
    reg_ = static_cast<uint8_t>(extension_ | (rex_ & 4) << 1);
    const uint8_t low = b & 7;
    rm_ = static_cast<uint8_t>(low | (rex_ & 1) << 3);
    if (mod_ == 3) return;
    plain_base_ = !segment_ && !address_size_;
    if (low == 4) {
      const uint8_t sib = next();
      if ((sib >> 3 & 7) != 4 || (rex_ & 2)) plain_base_ = false;  // an index
      rm_ = static_cast<uint8_t>((sib & 7) | (rex_ & 1) << 3);
      if ((sib & 7) == 5 && mod_ == 0) {
        plain_base_ = false;
        immediate(4);
        return;
      }
    } else if (low == 5 && mod_ == 0) {
      plain_base_ = false;  // relative to rip
      immediate(4);
      return;
    }
    if (mod_ == 1) displacement_ = immediate(1);
    else if (mod_ == 2) displacement_ = immediate(4);
  }

  void wrote(Writes what) {
    const auto bit = [](uint8_t r) { return static_cast<uint16_t>(1u << (r & 15)); };
    switch (what) {
      case Writes::None: break;
      case Writes::Reg: out_.writes |= bit(reg_); break;
      case Writes::Rm: if (mod_ == 3) out_.writes |= bit(rm_); break;
      case Writes::Both: out_.writes |= bit(reg_); if (mod_ == 3) out_.writes |= bit(rm_); break;
      case Writes::Rax: out_.writes |= 1; break;
      case Writes::RaxRdx: out_.writes |= 1 | 4; break;
      case Writes::String: out_.writes |= 1 | 2 | 1 << 6 | 1 << 7; break;
      case Writes::Cpuid: out_.writes |= 1 | 2 | 4 | 8; break;
    }
  }

  // A byte register without REX: numbers 4..7 are ah..bh, parts of rax..rbx. Treating them as
  // rsp..rdi would lose the stack pointer for nothing.
  void byte_register_fix() {
    if (rex_) return;
    if (reg_ >= 4) reg_ &= 3;
    if (mod_ == 3 && rm_ >= 4) rm_ &= 3;
  }

  void one_byte(uint8_t op);
  void group_ff();
  void moves(uint8_t op);
  void two_byte();
  void vector(uint8_t op);

  const uint8_t* bytes_;
  size_t available_;
  size_t at_ = 0;
  bool short_ = false;
  bool operand_size_ = false, address_size_ = false, f3_ = false, f2_ = false, segment_ = false;
  uint8_t rex_ = 0;
  uint8_t mod_ = 0, reg_ = 0, rm_ = 0, extension_ = 0;
  bool plain_base_ = false;  // the memory operand is one register plus a displacement
  int64_t displacement_ = 0;
  Instruction out_;
};

void Decoder::moves(uint8_t op) {
  if (op == 0x8d) {
    if (rex_w() && plain_base_) {
      out_.kind = Kind::Lea;
      out_.reg = reg_;
      out_.base = rm_;
      out_.displacement = displacement_;
    }
    return;
  }
  if (!rex_w()) return;
  const bool to_rm = op == 0x89;
  if (mod_ == 3) {
    out_.kind = Kind::Move;
    out_.reg = to_rm ? rm_ : reg_;
    out_.base = to_rm ? reg_ : rm_;
  } else if (plain_base_) {
    out_.kind = to_rm ? Kind::Store : Kind::Load;
    out_.reg = reg_;
    out_.base = rm_;
    out_.displacement = displacement_;
  }
}

void Decoder::group_ff() {
  switch (extension_) {
    case 2: out_.kind = Kind::Call; break;
    case 4: out_.kind = Kind::JumpAway; break;
    case 6: out_.kind = Kind::Push; out_.has_reg = false; break;
    case 3: case 5: case 7: out_.kind = Kind::Invalid; break;
    default: break;
  }
}

void Decoder::one_byte(uint8_t op) {
  if (opcode::one_byte_invalid(op)) return;
  out_.kind = Kind::Other;
  if (op >= 0x50 && op <= 0x5f) {
    out_.kind = op < 0x58 ? Kind::Push : Kind::Pop;
    out_.reg = static_cast<uint8_t>((op & 7) | (rex_ & 1) << 3);
    return;
  }
  const unsigned wide = operand_size_ && !rex_w() ? 2 : 4;
  if (opcode::one_byte_has_modrm(op)) modrm();
  unsigned bytes = opcode::one_byte_immediate(op, wide, rex_w(), address_size_);
  if ((op == 0xf6 || op == 0xf7) && extension_ < 2) bytes = op == 0xf6 ? 1 : wide;
  const int64_t value = immediate(bytes);
  const bool byte_operands = (op < 0x40 && !(op & 1)) || op == 0x86 || op == 0x88 || op == 0x8a || op == 0x80 ||
                             op == 0xc0 || op == 0xc6 || op == 0xd0 || op == 0xd2 || op == 0xf6 || op == 0xfe;
  if (byte_operands) byte_register_fix();
  wrote(opcode::one_byte_writes(op, extension_));
  if (op >= 0x70 && op <= 0x7f) {
    out_.kind = Kind::JumpIf;
    out_.displacement = value;
    return;
  }
  if (op >= 0x90 && op <= 0x97) {
    const auto other = static_cast<uint8_t>((op & 7) | (rex_ & 1) << 3);
    if (op == 0x90 && other == 0) return;
    out_.writes |= 1u << other;
    if (rex_w()) {
      out_.kind = Kind::Exchange;
      out_.reg = 0;
      out_.base = other;
    }
    return;
  }
  if (op >= 0xb0 && op <= 0xbf) {
    uint8_t r = static_cast<uint8_t>((op & 7) | (rex_ & 1) << 3);
    if (op < 0xb8 && !rex_ && r >= 4) r &= 3;
    out_.writes |= static_cast<uint16_t>(1u << r);
    return;
  }
  switch (op) {
    case 0x68: case 0x6a: case 0x9c: out_.kind = Kind::Push; out_.has_reg = false; break;
    case 0x9d: out_.kind = Kind::Pop; out_.has_reg = false; break;
    case 0x8f:
      out_.kind = extension_ == 0 && mod_ != 3 ? Kind::Pop : Kind::Invalid;
      out_.has_reg = false;
      break;
    case 0x81: case 0x83:
      if (mod_ == 3 && rex_w() && (extension_ == 0 || extension_ == 5)) {
        out_.kind = Kind::AddImmediate;
        out_.reg = rm_;
        out_.displacement = extension_ == 0 ? value : -value;
      }
      break;
    case 0x87:
      if (mod_ == 3 && rex_w()) {
        out_.kind = Kind::Exchange;
        out_.reg = reg_;
        out_.base = rm_;
      }
      break;
    case 0x89: case 0x8b: case 0x8d: moves(op); break;
    case 0xc2: case 0xc3: out_.kind = Kind::Return; break;
    case 0xc9: out_.kind = Kind::Leave; break;
    case 0xcc: case 0xf4: out_.kind = Kind::Trap; break;
    case 0xcd: out_.kind = Kind::Trap; break;
    case 0xe0: case 0xe1: case 0xe2: out_.writes |= 2; [[fallthrough]];
    case 0xe3: out_.kind = Kind::JumpIf; out_.displacement = value; break;
    case 0xe8: out_.kind = Kind::Call; break;
    case 0xe9: case 0xeb: out_.kind = Kind::Jump; out_.displacement = value; break;
    case 0xff: group_ff(); break;
    default: break;
  }
}

void Decoder::two_byte() {
  const uint8_t op = next();
  out_.kind = Kind::Other;
  if (op == 0x38 || op == 0x3a) {
    const uint8_t sub = next();
    modrm();
    if (op == 0x3a) {
      immediate(1);
      if (sub >= 0x14 && sub <= 0x17) wrote(Writes::Rm);
    } else if (sub >= 0xf0) {
      wrote(Writes::Reg);  // movbe, crc32, adcx
    }
    return;
  }
  if (opcode::two_byte_has_modrm(op)) modrm();
  const int64_t value = immediate(opcode::two_byte_immediate(op));
  if (op >= 0x90 && op <= 0x9f) byte_register_fix();
  wrote(opcode::two_byte_writes(op, extension_, f3_));
  if (op == 0x05) out_.writes |= 1 | 2 | 1u << 11;  // syscall: rax, rcx, r11
  if (op == 0xb0 || op == 0xb1) out_.writes |= 1;
  if (op >= 0xc8 && op <= 0xcf) out_.writes |= static_cast<uint16_t>(1u << ((op & 7) | (rex_ & 1) << 3));
  if (op >= 0x80 && op <= 0x8f) {
    out_.kind = Kind::JumpIf;
    out_.displacement = value;
  } else if (op == 0x0b || op == 0xb9 || op == 0xff) {
    out_.kind = Kind::Trap;
  }
}

void Decoder::vector(uint8_t op) {
  unsigned map, prefix;
  uint8_t vvvv;
  if (op == 0xc5) {
    const uint8_t b = next();
    rex_ = static_cast<uint8_t>((~b & 0x80) >> 5);
    map = 1;
    prefix = b & 3;
    vvvv = static_cast<uint8_t>(~b >> 3 & 15);
  } else {
    const uint8_t b1 = next(), b2 = next();
    rex_ = static_cast<uint8_t>((~b1 & 0xe0) >> 5 | (b2 & 0x80) >> 4);  // R→4, X→2, B→1, W→8
    map = b1 & (op == 0xc4 ? 0x1f : 7);
    prefix = b2 & 3;
    vvvv = static_cast<uint8_t>(~b2 >> 3 & 15);
    if (op == 0x62) next();
  }
  const uint8_t code = next();
  if (map == 0 || (op != 0x62 && map > 3) || map == 4 || map == 7) return;
  out_.kind = Kind::Other;
  if (map == 1 && code == 0x77) return;  // vzeroupper, vzeroall
  modrm();
  const bool imm8 = map == 3 || (map == 1 && opcode::two_byte_immediate(code) == 1);
  if (imm8) immediate(1);
  const Writes what = opcode::vector_writes(map, code, static_cast<uint8_t>(prefix));
  if (map == 2 && what == Writes::Both) {
    out_.writes |= static_cast<uint16_t>(1u << vvvv);  // blsr and kin, mulx
    if (code == 0xf6) wrote(Writes::Reg);
  } else {
    wrote(what);
  }
}

}  // namespace

Instruction decode_instruction(const uint8_t* bytes, size_t available) { return Decoder(bytes, available).run(); }

}  // namespace sonde
