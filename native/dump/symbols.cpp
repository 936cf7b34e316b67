// Exported symbols, from the library's own hash table in memory: works when its file is gone or in another container.
#include <elf.h>

#include <cstring>

#include "libraries.h"
#include "memory.h"

namespace sonde::dump {
namespace {

constexpr unsigned kMostDynamic = 256, kLongestChain = 4096;

struct Tables {
  uint64_t symbols = 0, strings = 0, hash = 0;
};

// glibc puts addresses into the section in place, others leave what the file has.
uint64_t absolute(const Library& library, uint64_t value) {
  return value < library.low ? library.base + value : value;
}

bool read_tables(const Library& library, Tables* out) {
  for (unsigned i = 0; i < kMostDynamic; i++) {
    Elf64_Dyn one;
    if (!read_memory(library.dynamic + i * sizeof one, &one, sizeof one) || one.d_tag == DT_NULL) break;
    if (one.d_tag == DT_SYMTAB) out->symbols = absolute(library, one.d_un.d_ptr);
    if (one.d_tag == DT_STRTAB) out->strings = absolute(library, one.d_un.d_ptr);
    if (one.d_tag == DT_GNU_HASH) out->hash = absolute(library, one.d_un.d_ptr);
  }
  return out->symbols && out->strings && out->hash;
}

bool is_named(uint64_t at, const char* name) {
  char text[64] = {};
  const size_t length = std::strlen(name) + 1;
  return length <= sizeof text && read_memory(at, text, length) && std::memcmp(text, name, length) == 0;
}

}  // namespace

uint64_t find_symbol(const Library& library, const char* name, uint64_t* size) {
  Tables tables;
  if (!library.dynamic || !read_tables(library, &tables)) return 0;
  uint32_t wanted = 5381;
  for (const char* c = name; *c; c++) wanted = wanted * 33 + static_cast<unsigned char>(*c);
  uint32_t head[4];  // buckets, first symbol, words of the filter, its shift
  if (!read_memory(tables.hash, head, sizeof head) || head[0] == 0) return 0;
  const uint64_t buckets = tables.hash + sizeof head + uint64_t{8} * head[2];
  const uint64_t chains = buckets + uint64_t{4} * head[0];
  uint32_t index;
  if (!read_memory(buckets + uint64_t{4} * (wanted % head[0]), &index, 4) || index < head[1]) return 0;
  for (unsigned step = 0; step < kLongestChain; step++, index++) {
    uint32_t hash;
    if (!read_memory(chains + uint64_t{4} * (index - head[1]), &hash, 4)) return 0;
    Elf64_Sym symbol;
    if ((hash | 1) == (wanted | 1) && read_memory(tables.symbols + index * sizeof symbol, &symbol, sizeof symbol) &&
        symbol.st_shndx != SHN_UNDEF && is_named(tables.strings + symbol.st_name, name)) {
      *size = symbol.st_size;
      return library.base + symbol.st_value;
    }
    if (hash & 1) return 0;
  }
  return 0;
}

}  // namespace sonde::dump
