#include "elf/symbols.h"

#include <algorithm>

#include "elf/plt.h"
#include "elf/unwind_ranges.h"

namespace sonde::elf {
namespace {

// A symbol that is preferred when several cover an address: exported before local (aliases with a
// public name), then the smaller one.
int rank(unsigned char info) {
  switch (ELF64_ST_BIND(info)) {
    case STB_GLOBAL: return 0;
    case STB_WEAK: return 1;
    default: return 2;
  }
}

struct Best {
  int rank = 3;
};

// The nearest symbol at or before an address, whatever its size: one without a size names what follows it.
struct Nearest {
  uint64_t start = 0;
  std::string_view name;
  bool unsized = false;
};

constexpr uint64_t kLongestUnsized = 65536;
constexpr uint64_t kNear = 1 << 20;  // an exported name further away says nothing about the place

void scan_table(const File& file, const Elf64_Shdr& table, Source source, const std::vector<uint64_t>& addresses,
                std::vector<Match>* out, std::vector<Best>* best, std::vector<Nearest>* nearest) {
  if (table.sh_link >= file.section_count()) return;
  const Elf64_Shdr& strings = file.section(table.sh_link);
  const uint64_t count = table.sh_size / sizeof(Elf64_Sym);
  const auto* symbols = file.at<Elf64_Sym>(table.sh_offset, count);
  if (symbols == nullptr) return;
  for (uint64_t i = 0; i < count; ++i) {
    const Elf64_Sym& symbol = symbols[i];
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) continue;
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) continue;
    // Labels inside hand-written assembly are local and have no type: they name no function.
    if (type == STT_NOTYPE && ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) continue;
    auto at = std::lower_bound(addresses.begin(), addresses.end(), symbol.st_value);
    if (at == addresses.end()) continue;
    const uint64_t end = symbol.st_value + symbol.st_size;
    Nearest& near = (*nearest)[static_cast<size_t>(at - addresses.begin())];
    if (symbol.st_value > near.start || (symbol.st_value == near.start && symbol.st_size > 0)) {
      near = {symbol.st_value, file.string(strings, symbol.st_name), symbol.st_size == 0};
    }
    const int symbol_rank = rank(symbol.st_info);
    for (; at != addresses.end() && *at < end; ++at) {
      const auto k = static_cast<size_t>(at - addresses.begin());
      Match& match = (*out)[k];
      const bool better = match.source == Source::None || symbol_rank < (*best)[k].rank ||
                          (symbol_rank == (*best)[k].rank && symbol.st_size < match.size);
      if (!better) continue;
      const std::string_view name = file.string(strings, symbol.st_name);
      if (name.empty()) continue;
      match = {symbol.st_value, symbol.st_size, source, name};
      (*best)[k].rank = symbol_rank;
    }
  }
}

void scan_file(const File& file, uint32_t type, Source source, const std::vector<uint64_t>& addresses,
               std::vector<Match>* out, std::vector<Best>* best, std::vector<Nearest>* nearest) {
  for (unsigned i = 0; i < file.section_count(); ++i) {
    if (file.section(i).sh_type == type) scan_table(file, file.section(i), source, addresses, out, best, nearest);
  }
}

}  // namespace

std::vector<Match> find_symbols(const File& file, const File* debug, const std::vector<uint64_t>& addresses) {
  std::vector<Match> matches(addresses.size());
  std::vector<Best> best(addresses.size());
  std::vector<Nearest> nearest(addresses.size());
  scan_file(file, SHT_SYMTAB, Source::Symtab, addresses, &matches, &best, &nearest);
  if (debug) scan_file(*debug, SHT_SYMTAB, Source::Symtab, addresses, &matches, &best, &nearest);
  // Names exported to the world are in .symtab as well, when there is one: only gaps are filled from here.
  std::vector<Match> exported(addresses.size());
  std::vector<Best> exported_best(addresses.size());
  scan_file(file, SHT_DYNSYM, Source::Dynsym, addresses, &exported, &exported_best, &nearest);
  const PltNames plt(file);
  const UnwindRanges unwind(file);
  for (size_t k = 0; k < addresses.size(); ++k) {
    // Each symbol was noted at the first address after it; what is nearest there may be nearest further on.
    if (k > 0 && nearest[k - 1].start > nearest[k].start) nearest[k] = nearest[k - 1];
    Match& match = matches[k];
    if (match.source == Source::None) match = exported[k];
    if (match.source != Source::None) continue;
    if (plt.find(addresses[k], &match)) continue;
    uint64_t start = 0, end = 0;
    const bool ranged = unwind.find(addresses[k], &start, &end);
    const Nearest& near = nearest[k];
    const bool close = near.unsized && !near.name.empty() && addresses[k] - near.start < kLongestUnsized;
    if (close && (!ranged || start <= near.start)) {  // else a function with unwind rules begins in between
      match = {near.start, 0, Source::Unsized, near.name};
    } else if (ranged) {
      // The exported function before it says in which part of a stripped library this is, not what it is.
      const bool tells = addresses[k] - near.start < kNear;
      match = {start, end - start, Source::Unwind, tells ? near.name : std::string_view{}};
    }
  }
  return matches;
}

}  // namespace sonde::elf
