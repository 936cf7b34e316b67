#include "python/eval_cold.h"

#include <link.h>

#include <cstring>

#include "arch/arch.h"

namespace sonde::python {
namespace {

// .eh_frame_hdr as linkers write it: signed 32-bit offsets to the section's own address.
struct UnwindTable {
  struct Entry {
    int32_t function, description;
  };
  uint64_t address = 0;
  const Entry* entries = nullptr;
  uint32_t count = 0;
  CodeRange text;  // executable segment that holds the body

  // The function with an unwind entry that holds `pc`.
  bool find(uint64_t pc, CodeRange* out) const {
    const auto wanted = static_cast<int64_t>(pc - address);
    uint32_t low = 0, high = count;
    while (low < high) {
      const uint32_t middle = (low + high) / 2;
      if (entries[middle].function <= wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == 0) return false;
    const Entry& entry = entries[low - 1];
    uint32_t words[4];  // length, distance to the CIE, start (pc-relative), size
    memcpy(words, reinterpret_cast<const void*>(address + static_cast<uint64_t>(int64_t{entry.description})),
           sizeof words);
    out->begin = address + static_cast<uint64_t>(int64_t{entry.function});
    out->end = out->begin + words[3];
    return pc < out->end;
  }
};

struct Search {
  uint64_t inside;
  UnwindTable table;
};

int find_table(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  const unsigned char* header = nullptr;
  CodeRange text;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) header = reinterpret_cast<const unsigned char*>(begin);
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) && search->inside >= begin &&
        search->inside < begin + segment.p_memsz) {
      text = {begin, begin + segment.p_memsz};
    }
  }
  if (text.begin == 0) return 0;
  constexpr unsigned char kForm[4] = {1, 0x1b, 0x03, 0x3b};
  if (header != nullptr && memcmp(header, kForm, sizeof kForm) == 0) {
    search->table.address = reinterpret_cast<uint64_t>(header);
    memcpy(&search->table.count, header + 8, sizeof search->table.count);
    search->table.entries = reinterpret_cast<const UnwindTable::Entry*>(header + 12);
    search->table.text = text;
  }
  return 1;
}

struct Inside {
  const CodeRange& body;
  bool found = false;
};

bool jumps_inside(const CodeRange& from, const CodeRange& body) {
  Inside inside{body};
  for_each_jump(
      from.begin, from.end,
      [](uint64_t target, void* data) {
        auto* in = static_cast<Inside*>(data);
        in->found |= target > in->body.begin && target < in->body.end;
      },
      &inside);
  return inside.found;
}

struct Parts {
  const UnwindTable& table;
  CodeRange* out;
  unsigned count, capacity;
  CodeRange body;

  // A chance hit of for_each_jump is as good as impossible here: the part must jump back into the body.
  void add(uint64_t target) {
    if (target >= body.begin && target < body.end) return;
    if (target < table.text.begin || target >= table.text.end) return;
    CodeRange part;
    if (count == capacity || !table.find(target, &part) || part.end > table.text.end) return;
    for (unsigned i = 0; i < count; ++i) {
      if (out[i].begin < part.end && part.begin < out[i].end) return;
    }
    if (jumps_inside(part, body)) out[count++] = part;
  }
};

}  // namespace

unsigned find_cold_parts(CodeRange* out, unsigned count, unsigned capacity) {
  const CodeRange body = out[0];
  Search search{body.begin, {}};
  dl_iterate_phdr(find_table, &search);
  const UnwindTable& table = search.table;
  if (table.entries == nullptr) return count;
  Parts parts{table, out, count, capacity, body};
  for_each_jump(
      body.begin, body.end, [](uint64_t target, void* data) { static_cast<Parts*>(data)->add(target); }, &parts);
  return parts.count;
}

}  // namespace sonde::python
