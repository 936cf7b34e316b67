// Frame description entries (FDE) of .eh_frame: which code they cover and where their programs are.
// Async-signal-safe throughout.
#pragma once

#include <cstdint>

#include "arch/arch.h"

namespace sonde {

// What an FDE and the CIE that it shares with others say together.
struct FrameDescription {
  uint64_t code_low = 0, code_high = 0;
  uint64_t cie = 0;                           // address of the CIE
  uint64_t initial_at = 0, initial_end = 0;   // the CIE's program
  uint64_t program_at = 0, program_end = 0;   // the FDE's own
  uint64_t code_alignment = 1;
  int64_t data_alignment = 1;
  uint8_t pointer_encoding = 0;
  uint8_t return_register = Registers::kPc;
  bool signal_frame = false;
  bool sized_augmentation = false;            // augmentation data with a length ('z')
};

// Address of the FDE with the greatest start ≤ pc in the sorted table of .eh_frame_hdr, 0 when none.
uint64_t search_frame_header(uint64_t eh_frame_hdr, uint64_t pc);

// False when the entry is damaged or of an unknown form.
bool read_frame_description(uint64_t fde, FrameDescription* out);

}  // namespace sonde
