// The size of a page, as the system says. Async-signal-safe.
#pragma once

#include <sys/auxv.h>

#include <cstdint>

namespace sonde {

inline uint64_t page_bytes() {
  static constinit uint64_t bytes = 0;
  if (__builtin_expect(bytes == 0, false)) bytes = getauxval(AT_PAGESZ);
  return bytes;
}

}  // namespace sonde
