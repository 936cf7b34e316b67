// Names of PLT stubs: which symbol a stub jumps to, by the relocation of the slot it reads.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "elf/file.h"

namespace sonde::elf {

struct Match;

class PltNames {
 public:
  explicit PltNames(const File& file);

  // True when `address` is in a stub; fills the match (the name has no "@plt": the caller adds it).
  bool find(uint64_t address, Match* match) const;

 private:
  void read_slots() const;

  const File& file_;
  std::vector<const Elf64_Shdr*> stubs_;
  // Slots of the global offset table by address; read when the first stub is asked for.
  mutable std::unordered_map<uint64_t, std::string_view> slots_;
  mutable bool slots_read_ = false;
};

}  // namespace sonde::elf
