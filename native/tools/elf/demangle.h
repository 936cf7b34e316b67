// C++ names as binutils, gdb and perf print them, whichever compiler built this library.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

// The demangled name, or `mangled` itself where it is no C++ name.
std::string Demangle(std::string_view mangled);

}  // namespace sonde
