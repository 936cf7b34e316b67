#include "elf/unwind_ranges.h"

#include <algorithm>
#include <cstring>

namespace sonde::elf {
namespace {
// The one form that GNU ld, gold and lld write: table of signed 32-bit offsets to the section.
constexpr unsigned char kHeader[4] = {1, 0x1b, 0x03, 0x3b};
}  // namespace

UnwindRanges::UnwindRanges(const File& file) : file_(file) {
  const Elf64_Shdr* header = file.find_section(".eh_frame_hdr");
  frames_ = file.find_section(".eh_frame");
  if (header == nullptr || frames_ == nullptr || header->sh_size < 12) return;
  const auto* bytes = file.at<unsigned char>(header->sh_offset, 12);
  if (bytes == nullptr || memcmp(bytes, kHeader, sizeof kHeader) != 0) return;
  uint32_t count;
  memcpy(&count, bytes + 8, sizeof count);
  entries_ = file.at<Entry>(header->sh_offset + 12, count);
  count_ = entries_ ? count : 0;
  header_address_ = header->sh_addr;
}

bool UnwindRanges::range_bytes(uint64_t address, uint32_t* bytes) const {
  // u32 length, u32 CIE distance, i32 start (pc-relative), u32 range: the usual pointer encoding 0x1b.
  if (address < frames_->sh_addr || address - frames_->sh_addr + 16 > frames_->sh_size) return false;
  const auto* words = file_.at<uint32_t>(frames_->sh_offset + (address - frames_->sh_addr), 4);
  if (words == nullptr || words[0] == 0 || words[0] == 0xffffffff) return false;
  *bytes = words[3];
  return true;
}

bool UnwindRanges::find(uint64_t address, uint64_t* start, uint64_t* end) const {
  const auto wanted = static_cast<int64_t>(address - header_address_);
  const Entry* after = std::upper_bound(entries_, entries_ + count_, wanted,
                                        [](int64_t a, const Entry& e) { return a < e.function; });
  if (count_ == 0 || after == entries_) return false;
  auto absolute = [this](int32_t offset) { return header_address_ + static_cast<uint64_t>(int64_t{offset}); };
  *start = absolute(after[-1].function);
  uint32_t bytes = 0;
  if (!range_bytes(absolute(after[-1].description), &bytes)) return false;
  *end = *start + bytes;
  return address < *end;
}

}  // namespace sonde::elf
