#include "elf/plt.h"

#include <cstring>

#include "elf/symbols.h"

namespace sonde::elf {

PltNames::PltNames(const File& file) : file_(file) {
  for (unsigned i = 0; i < file.section_count(); ++i) {
    if (file.section(i).sh_type == SHT_PROGBITS && file.section_name(i).substr(0, 4) == ".plt") {
      stubs_.push_back(&file.section(i));
    }
  }
}

void PltNames::read_slots() const {
  slots_read_ = true;
  for (unsigned i = 0; i < file_.section_count(); ++i) {
    const Elf64_Shdr& section = file_.section(i);
    if (section.sh_type != SHT_RELA || section.sh_link >= file_.section_count()) continue;
    const Elf64_Shdr& table = file_.section(section.sh_link);
    if (table.sh_type != SHT_DYNSYM || table.sh_link >= file_.section_count()) continue;
    const uint64_t count = section.sh_size / sizeof(Elf64_Rela);
    const uint64_t symbol_count = table.sh_size / sizeof(Elf64_Sym);
    const auto* entries = file_.at<Elf64_Rela>(section.sh_offset, count);
    const auto* symbols = file_.at<Elf64_Sym>(table.sh_offset, symbol_count);
    if (entries == nullptr || symbols == nullptr) continue;
    for (uint64_t k = 0; k < count; ++k) {
      const auto kind = ELF64_R_TYPE(entries[k].r_info);
      const uint64_t symbol = ELF64_R_SYM(entries[k].r_info);
      if ((kind != R_X86_64_JUMP_SLOT && kind != R_X86_64_GLOB_DAT) || symbol >= symbol_count) continue;
      slots_.emplace(entries[k].r_offset, file_.string(file_.section(table.sh_link), symbols[symbol].st_name));
    }
  }
}

bool PltNames::find(uint64_t address, Match* match) const {
  for (const Elf64_Shdr* section : stubs_) {
    if (address < section->sh_addr || address - section->sh_addr >= section->sh_size) continue;
    if (!slots_read_) read_slots();
    const uint64_t stub_size = section->sh_entsize == 8 ? 8 : 16;
    const uint64_t start = section->sh_addr + (address - section->sh_addr) / stub_size * stub_size;
    const auto* code = file_.at<unsigned char>(section->sh_offset + (start - section->sh_addr), stub_size);
    if (code == nullptr) return false;
    for (uint64_t i = 0; i + 6 <= stub_size; ++i) {  // [endbr64] [bnd] jmp *displacement(%rip)
      if (code[i] != 0xff || code[i + 1] != 0x25) continue;
      int32_t displacement;
      memcpy(&displacement, code + i + 2, sizeof displacement);
      const auto slot = slots_.find(start + i + 6 + static_cast<uint64_t>(static_cast<int64_t>(displacement)));
      if (slot == slots_.end() || slot->second.empty()) return false;
      *match = {start, stub_size, Source::Plt, slot->second};
      return true;
    }
    return false;
  }
  return false;
}

}  // namespace sonde::elf
