// The mappings and libraries of the process that is looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sonde::dump {

struct Library {
  uint64_t low = 0, high = 0;
  uint64_t base = 0;          // load bias
  uint64_t eh_frame_hdr = 0;  // 0: none
  uint64_t dynamic = 0;       // 0: none
  std::string path;
};

struct Mapping {
  uint64_t low = 0, high = 0, offset = 0;
  bool writable = false, executable = false;
  std::string path;
};

// False: the map cannot be read.
bool read_libraries(int pid);
void forget_libraries();
const std::vector<Library>& libraries();
const std::vector<Mapping>& mappings();  // by address
const Mapping* mapping_at(uint64_t address);  // null: none

// Can the memory there not change while the process runs?
bool is_fixed(uint64_t address);

// Address and size of an exported symbol of the library, 0: it has none.
uint64_t find_symbol(const Library& library, const char* name, uint64_t* size);

}  // namespace sonde::dump
