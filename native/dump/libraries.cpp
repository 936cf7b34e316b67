#include "libraries.h"

#include <elf.h>
#include <stdio.h>

#include <algorithm>
#include <cstring>

#include "common/maps.h"
#include "memory.h"
#include "unwind/frame_row.h"
#include "unwind/modules.h"

namespace sonde::dump {
namespace {

constexpr unsigned kMostSegments = 64;

std::vector<Library> found;
std::vector<Mapping> mapped;
uint32_t generation = 0;  // rules of one process are not those of another

// The library whose file begins at `start`; a base of 0 with high 0: no ELF file is mapped there.
Library read_library(uint64_t start, const char* path) {
  Library library;
  Elf64_Ehdr file;
  if (!read_memory(start, &file, sizeof file) || std::memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 ||
      file.e_phentsize != sizeof(Elf64_Phdr) || file.e_phnum > kMostSegments) {
    return library;
  }
  Elf64_Phdr segments[kMostSegments];
  if (!read_memory(start + file.e_phoff, segments, file.e_phnum * sizeof(Elf64_Phdr))) return library;
  uint64_t first = ~uint64_t{0}, end = 0;
  for (unsigned i = 0; i < file.e_phnum; i++) {
    if (segments[i].p_type != PT_LOAD) continue;
    first = std::min(first, segments[i].p_vaddr - segments[i].p_offset);
    end = std::max(end, segments[i].p_vaddr + segments[i].p_memsz);
  }
  if (end == 0) return library;
  library.base = start - first;
  library.low = start;
  library.high = library.base + end;
  library.path = path;
  for (unsigned i = 0; i < file.e_phnum; i++) {
    if (segments[i].p_type == PT_GNU_EH_FRAME) library.eh_frame_hdr = library.base + segments[i].p_vaddr;
    if (segments[i].p_type == PT_DYNAMIC) library.dynamic = library.base + segments[i].p_vaddr;
  }
  return library;
}

}  // namespace

bool read_libraries(int pid) {
  forget_libraries();
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/maps", pid);
  MapsReader maps(path);
  if (!maps.is_open()) return false;
  for (MapsLine line; maps.next(&line);) {
    mapped.push_back({line.low, line.high, line.offset, line.writable, line.executable, line.path});
  }
  for (const Mapping& one : mapped) {
    const bool code = one.path == "[vdso]" || (!one.path.empty() && one.path[0] == '/');
    if (one.offset != 0 || !code || one.path.compare(0, 5, "/dev/") == 0) continue;
    Library library = read_library(one.low, one.path.c_str());
    if (library.high) found.push_back(std::move(library));
  }
  generation = (generation + 1) & 0xffff;
  return true;
}

void forget_libraries() {
  found.clear();
  mapped.clear();
}

const std::vector<Library>& libraries() { return found; }
const std::vector<Mapping>& mappings() { return mapped; }

const Mapping* mapping_at(uint64_t address) {
  auto behind = std::upper_bound(mapped.begin(), mapped.end(), address,
                                 [](uint64_t a, const Mapping& m) { return a < m.low; });
  if (behind == mapped.begin()) return nullptr;
  const Mapping& one = *--behind;
  return address < one.high ? &one : nullptr;
}

bool is_fixed(uint64_t address) {
  const Mapping* one = mapping_at(address);
  return one && !one->writable && !one->path.empty();
}

}  // namespace sonde::dump

namespace sonde {

bool find_library(uint64_t pc, uint64_t* eh_frame_hdr, uint64_t* map_start, uint64_t* map_end) {
  for (const dump::Library& library : dump::found) {
    if (pc < library.low || pc >= library.high) continue;
    *eh_frame_hdr = library.eh_frame_hdr;
    *map_start = library.low;
    *map_end = library.high;
    return true;
  }
  return false;
}

uint32_t unload_generation() { return dump::generation; }

}  // namespace sonde
