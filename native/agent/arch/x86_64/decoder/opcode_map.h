// Which opcodes of the legacy maps have a ModRM byte, an immediate, and which general registers they write.
// Pure tables and arithmetic; no state.
#pragma once

#include <cstdint>

namespace sonde::opcode {

// What an instruction writes among general registers.
enum class Writes : uint8_t { None, Reg, Rm, Both, Rax, RaxRdx, String, Cpuid };

inline bool one_byte_has_modrm(uint8_t op) {
  if (op < 0x40) return (op & 7) < 4;
  return op == 0x63 || op == 0x69 || op == 0x6b || (op >= 0x80 && op <= 0x8f) || op == 0xc0 || op == 0xc1 ||
         op == 0xc6 || op == 0xc7 || (op >= 0xd0 && op <= 0xd3) || (op >= 0xd8 && op <= 0xdf) || op == 0xf6 ||
         op == 0xf7 || op == 0xfe || op == 0xff;
}

// Bytes of immediate; `wide` is 4, or 2 under an operand-size prefix. F6/F7 are added by the caller.
inline unsigned one_byte_immediate(uint8_t op, unsigned wide, bool rex_w, bool address_size) {
  if (op < 0x40) return (op & 7) == 4 ? 1 : (op & 7) == 5 ? wide : 0;
  if (op >= 0x70 && op <= 0x7f) return 1;
  if (op >= 0xb0 && op <= 0xb7) return 1;
  if (op >= 0xb8 && op <= 0xbf) return rex_w ? 8 : wide;
  if (op >= 0xe0 && op <= 0xe7) return 1;
  if (op >= 0xa0 && op <= 0xa3) return address_size ? 4 : 8;
  switch (op) {
    case 0x6a: case 0x6b: case 0x80: case 0x83: case 0xa8: case 0xc0: case 0xc1: case 0xc6: case 0xcd:
    case 0xeb: return 1;
    case 0x68: case 0x69: case 0x81: case 0xa9: case 0xc7: return wide;
    case 0xe8: case 0xe9: return 4;
    case 0xc2: return 2;
    default: return 0;
  }
}

// Opcodes that 64-bit mode does not have, and those that user code never runs.
inline bool one_byte_invalid(uint8_t op) {
  switch (op) {
    case 0x06: case 0x07: case 0x0e: case 0x16: case 0x17: case 0x1e: case 0x1f: case 0x27: case 0x2f:
    case 0x37: case 0x3f: case 0x60: case 0x61: case 0x82: case 0x9a: case 0xc8: case 0xca: case 0xcb:
    case 0xce: case 0xcf: case 0xd4: case 0xd5: case 0xd6: case 0xea: case 0x6c: case 0x6d: case 0x6e:
    case 0x6f: case 0xe4: case 0xe5: case 0xe6: case 0xe7: case 0xec: case 0xed: case 0xee: case 0xef:
    case 0xf1: case 0xfa: case 0xfb: return true;
    default: return false;
  }
}

inline Writes one_byte_writes(uint8_t op, uint8_t extension) {
  if (op < 0x40) {
    if (op >= 0x38) return Writes::None;  // cmp
    const uint8_t form = op & 7;
    return form < 2 ? Writes::Rm : form < 4 ? Writes::Reg : Writes::Rax;
  }
  if (op >= 0x91 && op <= 0x97) return Writes::Rax;  // the other side is added by the caller
  if (op >= 0xd8 && op <= 0xdf) return op == 0xdf ? Writes::Rax : Writes::None;  // fnstsw ax
  switch (op) {
    case 0x63: case 0x69: case 0x6b: case 0x8a: case 0x8b: case 0x8d: return Writes::Reg;
    case 0x80: case 0x81: case 0x83: return extension == 7 ? Writes::None : Writes::Rm;
    case 0x86: case 0x87: return Writes::Both;
    case 0x88: case 0x89: case 0x8c: case 0x8f: case 0xc0: case 0xc1: case 0xc6: case 0xc7: case 0xd0:
    case 0xd1: case 0xd2: case 0xd3: return Writes::Rm;
    case 0x98: case 0x9f: case 0xd7: case 0xa0: case 0xa1: return Writes::Rax;
    case 0x99: return Writes::RaxRdx;
    case 0xa4: case 0xa5: case 0xa6: case 0xa7: case 0xaa: case 0xab: case 0xac: case 0xad: case 0xae:
    case 0xaf: return Writes::String;
    case 0xf6: case 0xf7:
      return extension < 2 ? Writes::None : extension < 4 ? Writes::Rm : Writes::RaxRdx;
    case 0xfe: case 0xff: return extension < 2 ? Writes::Rm : Writes::None;
    default: return Writes::None;
  }
}

inline bool two_byte_has_modrm(uint8_t op) {
  if (op >= 0x05 && op <= 0x09) return false;
  if (op == 0x0b || op == 0x0e || op == 0x77 || op == 0xa0 || op == 0xa1 || op == 0xa2) return false;
  if (op >= 0x30 && op <= 0x37) return false;
  if (op >= 0x80 && op <= 0x8f) return false;
  if (op >= 0xa8 && op <= 0xaa) return false;
  return !(op >= 0xc8 && op <= 0xcf);
}

inline unsigned two_byte_immediate(uint8_t op) {
  if (op >= 0x70 && op <= 0x73) return 1;
  if (op >= 0x80 && op <= 0x8f) return 4;
  return op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 || op == 0xc4 || op == 0xc5 || op == 0xc6 ? 1 : 0;
}

inline Writes two_byte_writes(uint8_t op, uint8_t extension, bool f3) {
  if (op >= 0x40 && op <= 0x4f) return Writes::Reg;  // cmov
  if (op >= 0x90 && op <= 0x9f) return Writes::Rm;   // set
  switch (op) {
    case 0x02: case 0x03: case 0x2c: case 0x2d: case 0x50: case 0xaf: case 0xb6: case 0xb7: case 0xb8:
    case 0xbc: case 0xbd: case 0xbe: case 0xbf: case 0xc5: case 0xd7: return Writes::Reg;
    case 0x1e: return Writes::Rm;  // rdssp; endbr and nops change nothing, and name no register we need
    case 0x7e: return f3 ? Writes::None : Writes::Rm;  // movd/movq; f3: movq xmm
    case 0xa4: case 0xa5: case 0xac: case 0xad: case 0xab: case 0xb3: case 0xbb: return Writes::Rm;
    case 0xba: return extension == 4 ? Writes::None : Writes::Rm;
    case 0xae: return f3 && extension < 2 ? Writes::Rm : Writes::None;  // rdfsbase, rdgsbase
    case 0xb0: case 0xb1: return Writes::Both;  // cmpxchg: rax is added by the caller
    case 0xc0: case 0xc1: return Writes::Both;
    case 0xc7: return extension == 1 ? Writes::RaxRdx : Writes::Rm;
    case 0x01: case 0x31: case 0x33: return Writes::RaxRdx;
    case 0xa2: return Writes::Cpuid;
    default: return Writes::None;
  }
}

// VEX and EVEX instructions that write a general register; `map` 1: 0F, 2: 0F38, 3: 0F3A.
inline Writes vector_writes(unsigned map, uint8_t op, uint8_t prefix) {
  if (map == 1) {
    switch (op) {
      case 0x2c: case 0x2d: case 0x78: case 0x79: case 0x50: case 0x93: case 0xc5: case 0xd7:
        return Writes::Reg;
      case 0x7e: return prefix == 1 ? Writes::Rm : Writes::None;  // 66: movd/movq to a register
      default: return Writes::None;
    }
  }
  if (map == 2) {
    // BMI: andn, blsr (into vvvv: told by Both), bzhi, pext, pdep, mulx, bextr, shlx
    if (op == 0xf2 || op == 0xf5 || op == 0xf7) return Writes::Reg;
    if (op == 0xf3 || op == 0xf6) return Writes::Both;
    return Writes::None;
  }
  if (map == 3) {
    if (op >= 0x14 && op <= 0x17) return Writes::Rm;
    return op == 0xf0 ? Writes::Reg : Writes::None;
  }
  return Writes::None;
}

}  // namespace sonde::opcode
