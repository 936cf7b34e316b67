// The rules of a thread's last walk, leaf first, in one piece of memory.
//
// Samples are milliseconds apart: by then the program has evicted everything of ours from the caches, and
// what a walk costs is memory misses. Stacks of one thread repeat from some frame on, so reading the last
// walk's rules in their order (a kilobyte in a row) replaces a miss per frame in the shared rules.
// Used by its own thread alone, like the cache. Async-signal-safe.
#pragma once

#include <cstdint>
#include <cstring>

#include "unwind/rule.h"

namespace sonde {

struct alignas(32) CachedRule {
  uint64_t key = 0;  // see rule_key
  Rule rule;
};

struct RulePath {
  static constexpr unsigned kSteps = 96;

  uint32_t count;
  alignas(16) uint16_t tag[kSteps];  // of the keys, to find a frame without touching the rules
  CachedRule step[kSteps];

  static uint16_t tag_of(uint64_t key) { return static_cast<uint16_t>((key ^ key >> 16) | 1); }

  void append(uint64_t key, const Rule& rule) {
    if (count == kSteps) return;
    tag[count] = tag_of(key);
    step[count++] = {key, rule};
  }

  // Position of the key at or behind `from`, or count.
  unsigned find(uint64_t key, unsigned from) const {
    typedef uint16_t Lanes __attribute__((vector_size(16)));
    const uint16_t wanted = tag_of(key);
    const Lanes all = Lanes{} + wanted;
    for (unsigned block = from & ~7u; block < count; block += 8) {
      Lanes here;
      memcpy(&here, tag + block, sizeof here);
      const auto equal = here == all;
      uint64_t any[2];
      memcpy(any, &equal, sizeof any);
      if (!(any[0] | any[1])) continue;
      for (unsigned i = block < from ? from : block; i < block + 8 && i < count; ++i) {
        if (tag[i] == wanted && step[i].key == key) return i;
      }
    }
    return count;
  }
};

// The last walk and the one in progress.
struct RulePaths {
  RulePath path[2];
  uint32_t newest;
};

}  // namespace sonde
