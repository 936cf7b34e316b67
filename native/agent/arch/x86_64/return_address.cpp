#include <cstring>

#include "arch/arch.h"
#include "common/guarded_memory.h"

namespace sonde {
namespace {

// Length of the `call r/m64` whose FF byte is at b, 0 when it is none; b has at least 7 readable bytes.
unsigned indirect_call_length(const uint8_t* b) {
  if (b[0] != 0xff || (b[1] >> 3 & 7) != 2) return 0;
  const uint8_t mod = b[1] >> 6, rm = b[1] & 7;
  if (mod == 3) return 2;
  const bool sib = rm == 4;
  unsigned length = sib ? 3 : 2;
  if (mod == 1) length += 1;
  else if (mod == 2) length += 4;
  else if (rm == 5 || (sib && (b[2] & 7) == 5)) length += 4;
  return length;
}

}  // namespace

CallBefore call_before(uint64_t address, uint64_t* target) {
  // The longest form is FF /2 with SIB and disp32: 7 bytes. Zeroes behind let every start be tried.
  uint8_t bytes[16] = {};
  if (address < kLowestUserAddress + 7 || guarded_copy(bytes, address - 7, 7) != 7) return CallBefore::None;
  for (unsigned length = 2; length <= 7; ++length) {
    if (indirect_call_length(bytes + 7 - length) == length) return CallBefore::Indirect;
  }
  if (bytes[2] == 0xe8) {
    int32_t distance;
    memcpy(&distance, bytes + 3, 4);
    *target = address + static_cast<uint64_t>(int64_t{distance});
    return CallBefore::Direct;
  }
  return CallBefore::None;
}

}  // namespace sonde
