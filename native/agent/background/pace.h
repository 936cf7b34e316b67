// When the background thread makes its next pass.
//
// Waking up, looking at every thread and writing a chunk costs the same (some 100 us with cold caches) for ten
// samples or for fifty. So while nothing happens but computing, passes are as rare as the promise of
// a kill -9 and the rings allow; whatever has a time that only a look can tell (a wait's place, a library, generated
// code) makes them frequent again, and for a while: what happened once comes again. Background thread only.
#pragma once

#include <cstdint>

#include "core/options.h"

namespace sonde {

class Pace {
 public:
  constexpr Pace() = default;

  void start(uint64_t now_ns) {
    last_ns_ = now_ns;
    restless_until_ns_ = now_ns + kRestlessNs;  // libraries, threads, first names
  }

  // In a pass.
  void look_again_soon() { restless_ = true; }
  void drained(uint32_t words) { words_ = words > words_ ? words : words_; }  // from one thread's ring

  // At its end: how long until the next one. `ring_words`: what a ring holds.
  uint64_t next_ns(uint64_t now_ns, uint32_t ring_words) {
    const uint64_t elapsed_ns = now_ns - last_ns_;
    if (restless_) restless_until_ns_ = now_ns + kRestlessNs;
    uint64_t wanted_ns = now_ns < restless_until_ns_ ? kBusyPassNs : kCalmPassNs;
    // Rings should not be more than a third full by then: a half full one wakes us from the handler.
    if (words_ > 0) {
      const uint64_t fill_ns = elapsed_ns * (ring_words / 3) / words_;
      if (fill_ns < wanted_ns) wanted_ns = fill_ns > kBusyPassNs ? fill_ns : kBusyPassNs;
    }
    last_ns_ = now_ns;
    restless_ = false;
    words_ = 0;
    return wanted_ns;
  }

 private:
  static constexpr uint64_t kRestlessNs = 2'000'000'000;

  uint64_t restless_until_ns_ = 0, last_ns_ = 0;
  uint32_t words_ = 0;  // drained from the fullest ring
  bool restless_ = false;
};

}  // namespace sonde
