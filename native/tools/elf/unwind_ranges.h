// Function ranges from .eh_frame_hdr: in stripped libraries the only trace of where a function begins.
#pragma once

#include <cstdint>

#include "elf/file.h"

namespace sonde::elf {

class UnwindRanges {
 public:
  explicit UnwindRanges(const File& file);
  bool find(uint64_t address, uint64_t* start, uint64_t* end) const;

 private:
  struct Entry {
    int32_t function, description;  // both relative to the section's address
  };

  bool range_bytes(uint64_t description_address, uint32_t* bytes) const;

  const File& file_;
  const Entry* entries_ = nullptr;
  uint64_t count_ = 0;
  uint64_t header_address_ = 0;
  const Elf64_Shdr* frames_ = nullptr;
};

}  // namespace sonde::elf
