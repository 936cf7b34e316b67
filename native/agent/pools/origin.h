// Where work began that another thread carries out: the stack of the thread that handed it over, copied at that
// moment. For pools whose owner does not wait (inter-op) or goes on with Python code of its own
// (autograd), where a frozen stack as in region.h does not exist.
#pragma once

#include <cstdint>

#include "arch/arch.h"
#include "pools/owner.h"

namespace sonde {

struct Origin {
  // A stack deeper than this is cut at its root and counted as truncated. 6 KiB in all.
  static constexpr uint32_t kWords = 768;

  uint32_t thread = kNoThread;  // who handed it over
  uint16_t native = 0;          // packed native frames (record.h), leaf first; then
  uint16_t python = 0;          // Python frames,
  uint16_t python_words = 0;    // of one or two words
  uint8_t walk_end = 0;
  uint64_t words[kWords];

  uint32_t size_bytes() const;  // up to the last word in use
};

// Fills `out` with the calling thread's stack from `registers` on, and with the origin of what that
// thread is itself working on. False: the thread is not followed. Not async-signal-safe.
bool capture_origin(const Registers& registers, Origin* out);

// Async-signal-safe. The origin of what the calling thread works on, null when it works for itself.
// `ticket` goes to origin_stayed.
const Origin* current_origin(uint64_t* ticket);
// Async-signal-safe. Asked after the origin was copied: was it still the same?
bool origin_stayed(uint64_t ticket);

}  // namespace sonde
