// The registers of an interrupted thread that unwinding needs.
// x86-64, DWARF numbering: 0 rax 1 rdx 2 rcx 3 rbx 4 rsi 5 rdi 6 rbp 7 rsp 8..15 r8..r15 16 rip.
#pragma once

#include <cstdint>

namespace sonde {

struct Registers {
  using Set = uint32_t;  // one bit each
  static constexpr unsigned kFramePointer = 6, kSp = 7, kPc = 16, kGeneral = 16, kCount = 17;
  // Those that a function gives back as it found them.
  static constexpr unsigned kSavedCount = 6;
  static constexpr uint8_t kSaved[kSavedCount] = {3, 6, 12, 13, 14, 15};
  static constexpr Set kCalleeSaved = 1u << 3 | 1u << 6 | 0xfu << 12;
  // Order in which compilers and assemblers push them, first pushed first: rbp rbx r12 r13 r14 r15.
  static constexpr uint8_t kPushOrder[] = {6, 3, 12, 13, 14, 15};

  uint64_t value[kCount] = {};
  Set known = 0;  // bit i: value[i] is the thread's real value

  static constexpr Set bit(unsigned reg) { return Set{1} << reg; }
  uint64_t pc() const { return value[kPc]; }
  uint64_t sp() const { return value[kSp]; }
  void set(unsigned reg, uint64_t v) {
    value[reg] = v;
    known |= bit(reg);
  }
};

inline constexpr uint64_t kRedZoneBytes = 128;
inline constexpr int64_t kReturnOffset = -8;

inline uint64_t stack_pointer() {
  uint64_t sp;
  asm volatile("mov %%rsp, %0" : "=r"(sp));
  return sp;
}

// The frame that expands it must stay while the registers are used.
#define SONDE_CAPTURE_REGISTERS(registers)                                                    \
  do {                                                                                        \
    asm volatile(                                                                             \
        "movq %%rbx, 24(%0)\n movq %%rbp, 48(%0)\n movq %%rsp, 56(%0)\n movq %%r12, 96(%0)\n" \
        "movq %%r13, 104(%0)\n movq %%r14, 112(%0)\n movq %%r15, 120(%0)\n"                   \
        "leaq 0(%%rip), %%rax\n movq %%rax, 128(%0)\n"                                        \
        :                                                                                     \
        : "r"((registers).value)                                                              \
        : "rax", "memory");                                                                   \
    (registers).known = 1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12 | 1u << 16;                  \
  } while (0)

}  // namespace sonde
