// What Python calls (sonde/symbols/elf.py), by ctypes.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "elf/demangle.h"
#include "elf/file.h"
#include "elf/symbols.h"

#define SONDE_API extern "C" __attribute__((visibility("default")))

// Resolves `count` file offsets of code. For each: its virtual address, the range of the symbol around it,
// the Source (symbols.h), and where its demangled name begins in *names (zero-terminated texts; offset 0 is the
// empty text). The caller frees *names with sonde_elf_free. Returns 0, or -1 when the file is no ELF file.
SONDE_API int sonde_elf_resolve(const char* path, const char* debug_path, const uint64_t* offsets, size_t count,
                                uint64_t* address, uint64_t* start, uint64_t* size, uint8_t* source,
                                uint32_t* name_at, char** names, size_t* names_size) {
  using namespace sonde::elf;
  const File file(path);
  if (!file.valid()) return -1;
  const File debug(debug_path && debug_path[0] ? debug_path : "");
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = 0; i < count; ++i) address[i] = file.address_of_offset(offsets[i]);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return address[a] < address[b]; });
  std::vector<uint64_t> sorted(count);
  for (size_t i = 0; i < count; ++i) sorted[i] = address[order[i]];
  const std::vector<Match> matches = find_symbols(file, debug.valid() ? &debug : nullptr, sorted);
  std::string blob(1, '\0');
  std::unordered_map<std::string, uint32_t> known;
  for (size_t i = 0; i < count; ++i) {
    const Match& match = matches[i];
    const size_t k = order[i];
    start[k] = match.start;
    size[k] = match.size;
    source[k] = static_cast<uint8_t>(match.source);
    name_at[k] = 0;
    if (match.name.empty()) continue;
    // .symtab keeps versions in names (memcpy@@GLIBC_2.14).
    const std::string_view plain = match.name.substr(0, match.name.find('@'));
    std::string key(plain);
    if (match.source == Source::Plt) key += "@plt";
    auto [entry, fresh] = known.emplace(std::move(key), static_cast<uint32_t>(blob.size()));
    if (fresh) {
      blob += sonde::Demangle(plain);
      if (match.source == Source::Plt) blob += "@plt";
      blob += '\0';
    }
    name_at[k] = entry->second;
  }
  *names = static_cast<char*>(malloc(blob.size()));
  if (*names == nullptr) return -1;
  memcpy(*names, blob.data(), blob.size());
  *names_size = blob.size();
  return 0;
}

SONDE_API void sonde_elf_free(char* names) { free(names); }

// Build id as hex into `out` (zero-terminated); false when there is none or it does not fit.
SONDE_API int sonde_elf_build_id(const char* path, char* out, size_t capacity) {
  const sonde::elf::File file(path);
  const std::string id = file.valid() ? file.build_id() : "";
  if (id.empty() || id.size() >= capacity) return 0;
  memcpy(out, id.c_str(), id.size() + 1);
  return 1;
}

// Does the file hold DWARF (.debug_info) itself?
SONDE_API int sonde_elf_has_debug_info(const char* path) {
  const sonde::elf::File file(path);
  const Elf64_Shdr* section = file.valid() ? file.find_section(".debug_info") : nullptr;
  return section != nullptr && section->sh_type != SHT_NOBITS;
}

// The file name in .gnu_debuglink and its CRC; 0 when there is none.
SONDE_API int sonde_elf_debug_link(const char* path, char* out, size_t capacity, uint32_t* crc) {
  const sonde::elf::File file(path);
  const Elf64_Shdr* section = file.valid() ? file.find_section(".gnu_debuglink") : nullptr;
  if (section == nullptr) return 0;
  const std::string_view name = file.string(*section, 0);
  const uint64_t crc_at = (name.size() + 4) & ~uint64_t{3};
  const auto* value = file.at<uint32_t>(section->sh_offset + crc_at, 1);
  if (name.empty() || name.size() >= capacity || value == nullptr) return 0;
  memcpy(out, name.data(), name.size());
  out[name.size()] = 0;
  *crc = *value;
  return 1;
}

// Demangles a zero-terminated name; the result is freed with sonde_elf_free.
SONDE_API char* sonde_demangle(const char* mangled) { return strdup(sonde::Demangle(mangled).c_str()); }
