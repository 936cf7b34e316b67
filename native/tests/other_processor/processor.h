// A processor with other registers than any that the agent runs on: 32 general ones, the return address in one of them,
// no red zone. tests/native/test_arch.py compiles every file outside arch/ with it. Declarations only, never linked.
#pragma once

#include <cstdint>

namespace sonde {

struct Registers {
  using Set = uint64_t;
  static constexpr unsigned kFramePointer = 29, kSp = 31, kPc = 33, kGeneral = 32, kCount = 34;
  static constexpr unsigned kSavedCount = 10;
  static constexpr uint8_t kSaved[kSavedCount] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28};
  static constexpr Set kCalleeSaved = 0x7ffull << 19;
  static constexpr uint8_t kPushOrder[] = {29, 30};

  uint64_t value[kCount] = {};
  Set known = 0;

  static constexpr Set bit(unsigned reg) { return Set{1} << reg; }
  uint64_t pc() const { return value[kPc]; }
  uint64_t sp() const { return value[kSp]; }
  void set(unsigned reg, uint64_t v) {
    value[reg] = v;
    known |= bit(reg);
  }
};

inline constexpr uint64_t kRedZoneBytes = 0;
inline constexpr int64_t kReturnOffset = 0;
inline constexpr uint64_t kLowestUserAddress = 65536, kHighestUserAddress = 0xfffffffff000;

uint64_t stack_pointer();
template <typename T>
T raw_guarded_load(uint64_t address, uint32_t* failed);

#define SONDE_CAPTURE_REGISTERS(registers) (registers).set((registers).kPc, 0)

}  // namespace sonde
