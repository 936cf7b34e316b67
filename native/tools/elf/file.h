// An ELF file mapped for reading. Every access is checked against the file's size, because
// libraries change on disk and recordings come from elsewhere: a damaged file yields less, never a crash.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sonde::elf {

class File {
 public:
  explicit File(const char* path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool valid() const { return sections_ != nullptr; }

  // `count` objects at a file offset, null when they are not inside the file.
  template <class T>
  const T* at(uint64_t offset, uint64_t count) const {
    if (offset > size_ || count > (size_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(data_ + offset);
  }

  unsigned section_count() const { return section_count_; }
  const Elf64_Shdr& section(unsigned i) const { return sections_[i]; }
  std::string_view section_name(unsigned i) const;
  const Elf64_Shdr* find_section(std::string_view name) const;

  // Text at an offset of a string table; empty when it is out of range or unterminated.
  std::string_view string(const Elf64_Shdr& table, uint64_t offset) const;

  // Virtual address of a file offset by the loadable segments; ~0 when none holds it.
  uint64_t address_of_offset(uint64_t offset) const;

  std::string build_id() const;  // hex, empty when there is none

 private:
  const unsigned char* data_ = nullptr;
  size_t size_ = 0;
  const Elf64_Shdr* sections_ = nullptr;
  unsigned section_count_ = 0;
  const Elf64_Phdr* segments_ = nullptr;
  unsigned segment_count_ = 0;
  unsigned names_ = 0;
};

}  // namespace sonde::elf
