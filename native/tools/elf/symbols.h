// Addresses → symbols, for many addresses at once.
//
// One pass over the symbol table looks each symbol up among the wanted addresses, instead of sorting the
// table first: libtorch_cpu.so has half a million symbols and a profile asks for a few thousand addresses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elf/file.h"

namespace sonde::elf {

enum class Source : uint8_t {
  None = 0,      // no symbol, no unwind entry
  Symtab = 1,    // inside a symbol of .symtab (own or separate debug file)
  Dynsym = 2,    // inside a symbol of .dynsym
  Plt = 3,       // a stub that jumps to another library; named after its target
  Unwind = 4,    // no symbol, but the function's range is known from .eh_frame
  Unsized = 5,   // after a symbol without a size and before the next one (hand-written assembly)
};

struct Match {
  uint64_t start = 0;
  uint64_t size = 0;
  Source source = Source::None;
  std::string_view name;  // as in the file, mangled; valid as long as the files are open
};

// `addresses` ascending, virtual addresses of `file`. `debug` may be null.
std::vector<Match> find_symbols(const File& file, const File* debug, const std::vector<uint64_t>& addresses);

}  // namespace sonde::elf
