#include "elf/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace sonde::elf {

File::File(const char* path) {
  // A log of someone else may name a pipe: opening one must not wait for its other end.
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;
  struct stat status {};
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    void* memory = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (memory != MAP_FAILED) {
      data_ = static_cast<const unsigned char*>(memory);
      size_ = static_cast<size_t>(status.st_size);
    }
  }
  close(fd);
  const auto* header = at<Elf64_Ehdr>(0, 1);
  if (header == nullptr || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr)) return;
  segments_ = at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
  segment_count_ = segments_ ? header->e_phnum : 0;
  sections_ = at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  section_count_ = sections_ ? header->e_shnum : 0;
  names_ = header->e_shstrndx;
}

File::~File() {
  if (data_) munmap(const_cast<unsigned char*>(data_), size_);
}

std::string_view File::section_name(unsigned i) const {
  return names_ < section_count_ ? string(sections_[names_], sections_[i].sh_name) : std::string_view{};
}

const Elf64_Shdr* File::find_section(std::string_view name) const {
  for (unsigned i = 0; i < section_count_; ++i) {
    if (section_name(i) == name) return &sections_[i];
  }
  return nullptr;
}

std::string_view File::string(const Elf64_Shdr& table, uint64_t offset) const {
  if (table.sh_type == SHT_NOBITS || offset >= table.sh_size) return {};
  const char* text = at<char>(table.sh_offset, table.sh_size);
  if (text == nullptr) return {};
  const auto room = static_cast<size_t>(table.sh_size - offset);
  const size_t length = strnlen(text + offset, room);
  return length == room ? std::string_view{} : std::string_view{text + offset, length};
}

uint64_t File::address_of_offset(uint64_t offset) const {
  for (unsigned i = 0; i < segment_count_; ++i) {
    const Elf64_Phdr& segment = segments_[i];
    // Pages are mapped whole: the last page of a segment reaches beyond its file size.
    const uint64_t end = (segment.p_offset + segment.p_filesz + 4095) & ~uint64_t{4095};
    const bool code = segment.p_type == PT_LOAD && (segment.p_flags & PF_X);
    if (code && offset >= (segment.p_offset & ~uint64_t{4095}) && offset < end) {
      return offset - segment.p_offset + segment.p_vaddr;
    }
  }
  return ~uint64_t{0};
}

std::string File::build_id() const {
  for (unsigned i = 0; i < section_count_; ++i) {
    const Elf64_Shdr& section = sections_[i];
    if (section.sh_type != SHT_NOTE || section_name(i) != ".note.gnu.build-id") continue;
    const auto* note = at<Elf64_Nhdr>(section.sh_offset, 1);
    if (note == nullptr || note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4) continue;
    const auto* bytes = at<unsigned char>(section.sh_offset + sizeof(Elf64_Nhdr) + 4, note->n_descsz);
    if (bytes == nullptr || note->n_descsz > 64) continue;
    std::string hex;
    for (unsigned b = 0; b < note->n_descsz; ++b) {
      constexpr char kDigits[] = "0123456789abcdef";
      hex += kDigits[bytes[b] >> 4];
      hex += kDigits[bytes[b] & 15];
    }
    return hex;
  }
  return {};
}

}  // namespace sonde::elf
