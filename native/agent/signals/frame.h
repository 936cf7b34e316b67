// x86-64: what the kernel puts on a stack for a handler, and where. Async-signal-safe.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sonde {

// From the stack pointer up. The vector registers follow, at the address in uc_mcontext.fpregs.
struct Frame {
  uint64_t return_address;  // libc's call of sigreturn, which finds the frame by the stack pointer
  uint8_t context[offsetof(ucontext_t, uc_sigmask) + 8];
  uint8_t info[sizeof(siginfo_t)];
};
static_assert(sizeof(Frame) == 8 + 304 + 128);

inline constexpr uint64_t kRedZone = 128;

struct FramePlace {
  uint64_t frame, vectors, vector_bytes;
};

inline uint64_t vector_bytes(const void* fpregs) {
  constexpr uint64_t kLegacyBytes = 512, kSizeAt = 464;
  constexpr uint32_t kMagic = 0x46505853;  // FP_XSTATE_MAGIC1
  if (!fpregs) return 0;
  uint32_t magic, bytes;
  std::memcpy(&magic, static_cast<const uint8_t*>(fpregs) + kSizeAt, 4);
  std::memcpy(&bytes, static_cast<const uint8_t*>(fpregs) + kSizeAt + 4, 4);
  return magic == kMagic ? bytes : kLegacyBytes;
}

// Below `top`, with vector registers as large as those of another frame of the thread.
inline FramePlace frame_below(uint64_t top, const void* fpregs) {
  const uint64_t bytes = vector_bytes(fpregs);
  const uint64_t vectors = (top - bytes) & ~uint64_t{63};
  // As at the entry of any function: 8 below a multiple of 16.
  return {((vectors - sizeof(Frame)) & ~uint64_t{15}) - 8, vectors, bytes};
}

}  // namespace sonde
