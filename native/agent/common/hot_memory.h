// Memory for what every sample touches, in one huge page.
//
// At 100 Hz the program has evicted all of Sonde's from the caches, page tables included: in small pages a sample
// walks cold page tables a few dozen times (rules, codes, scratch, ring), in one huge page once. Where the system has
// no huge page to give, it is ordinary memory.
#pragma once

#include <cstddef>

namespace sonde {

// Not async-signal-safe. Zeroed memory on a cache line, never given back; null when the page is used up: the caller
// maps its own then.
void* hot_memory(size_t bytes);

}  // namespace sonde
