// A sample as it lies in a thread's ring: this head, then `native` words (pc with its flags in the
// top byte; those in the kernel first), `owner_frames` words of the same kind, then `python` words of packed Python frames.
#pragma once

#include <cstdint>

#include "python/frames.h"
#include "unwind/unwind.h"

namespace sonde {

struct SampleHead {
  uint32_t words;  // of the whole record; never 0
  uint8_t state;
  uint8_t walk_end;
  uint8_t owner_walk_end;
  uint8_t anchor;
  uint64_t time_ns;
  uint64_t weight_ns;
  uint32_t owner;  // thread number, kNoThread when none
  uint16_t native;
  uint16_t owner_frames;
  uint16_t python;
  uint16_t unused;
  uint32_t handler_ns;  // from time_ns to the end of the handler
};
static_assert(sizeof(SampleHead) == 40);
constexpr uint32_t kHeadWords = sizeof(SampleHead) / 8;

constexpr uint64_t kPcMask = (uint64_t{1} << 56) - 1;
inline uint64_t pack(const NativeFrame& frame) {
  return (frame.pc & kPcMask) | (static_cast<uint64_t>(frame.flags) << 56);
}

inline uint64_t pack_kernel(uint64_t address) {
  return (address & kPcMask) | (uint64_t{kFrameKernel} << 56);
}
// Async-signal-safe. The address of a packed frame.
inline uint64_t packed_pc(uint64_t word) {
  return (word & kPcMask) | (word >> 56 & kFrameKernel ? ~kPcMask : 0);
}

// Python frame: code 32 bits, instruction + 1 in 30 bits, `self` follows, entry. One or two words.
constexpr uint64_t kPythonSelf = uint64_t{1} << 62, kPythonEntry = uint64_t{1} << 63;
inline uint64_t pack(const PythonFrame& frame) {
  return frame.code | ((static_cast<uint64_t>(frame.instruction + 1) & 0x3fffffff) << 32) |
         (frame.self ? kPythonSelf : 0) | (frame.entry ? kPythonEntry : 0);
}

}  // namespace sonde
