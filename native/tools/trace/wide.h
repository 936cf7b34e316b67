// A 128-bit integer: gcc and clang have it on every 64-bit target, ISO C++ does not name it.
#pragma once

namespace sonde::trace {

__extension__ using Wide = unsigned __int128;

}  // namespace sonde::trace
