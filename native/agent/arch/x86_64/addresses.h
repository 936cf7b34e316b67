// The range of addresses that a program can have.
#pragma once

#include <cstdint>

namespace sonde {

inline constexpr uint64_t kLowestUserAddress = 4096;
// A non-canonical address raises a general protection fault: SIGSEGV as well, without an address.
inline constexpr uint64_t kHighestUserAddress = 0x7ffffffff000;

}  // namespace sonde
