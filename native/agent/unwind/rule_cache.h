// Rules by pc, per thread, direct mapped: only its own thread (or its signal handler) uses it, so it needs
// no lock. An entry is void when a library was unloaded after it was made.
#pragma once

#include "unwind/modules.h"
#include "unwind/rule.h"

namespace sonde {

struct RuleCache {
  static constexpr unsigned kEntries = 1024, kDecodedEntries = 256;
  struct alignas(32) Entry {
    uint64_t key = 0;  // pc in the low 48 bits, unload generation above
    Rule rule;
  };
  Entry entry[kEntries];
  Entry decoded[kDecodedEntries];  // of code without tables; the key also holds the code's bytes

  // Async-signal-safe.
  static uint64_t key(uint64_t pc) { return pc | static_cast<uint64_t>(unload_generation()) << 48; }
  Entry& place(uint64_t pc) { return entry[(pc ^ pc >> 10 ^ pc >> 20) % kEntries]; }
  Entry& place_decoded(uint64_t pc) { return decoded[(pc ^ pc >> 8 ^ pc >> 16) % kDecodedEntries]; }
};

}  // namespace sonde
