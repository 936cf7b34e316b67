#include "unwind/frame_description.h"

#include "unwind/cursor.h"

namespace sonde {
namespace {

constexpr uint8_t kTableDataRelative4 = 0x3b;  // DW_EH_PE_datarel | sdata4: the only sorted form linkers emit

// Opens the entry at `address`: cursor behind its length, and its end.
bool open_entry(uint64_t address, Cursor* cursor) {
  *cursor = Cursor{address, address + 12, 0};
  uint64_t length = cursor->fixed<uint32_t>();
  if (length == 0xffffffff) length = cursor->fixed<uint64_t>();
  if (cursor->fault || length == 0 || length > (1u << 28)) return false;
  cursor->end = cursor->at + length;
  return true;
}

bool read_cie(uint64_t address, FrameDescription* out) {
  Cursor cursor;
  if (!open_entry(address, &cursor)) return false;
  if (cursor.fixed<uint32_t>() != 0) return false;  // not a CIE
  const auto version = cursor.fixed<uint8_t>();
  if (version != 1 && version != 3) return false;
  char augmentation[8] = {};
  for (unsigned i = 0;; ++i) {
    const auto c = static_cast<char>(cursor.fixed<uint8_t>());
    if (c == 0) break;
    if (i + 1 >= sizeof augmentation || cursor.fault) return false;
    augmentation[i] = c;
  }
  out->cie = address;
  out->code_alignment = cursor.uleb();
  out->data_alignment = cursor.sleb();
  out->return_register = static_cast<uint8_t>(version == 1 ? cursor.fixed<uint8_t>() : cursor.uleb());
  out->pointer_encoding = 0;
  out->signal_frame = false;
  out->sized_augmentation = augmentation[0] == 'z';
  if (out->sized_augmentation) {
    Cursor behind = cursor;
    behind.skip(behind.uleb());
    cursor.uleb();
    for (const char* c = augmentation + 1; *c; ++c) {
      if (*c == 'R') {
        out->pointer_encoding = cursor.fixed<uint8_t>();
      } else if (*c == 'P') {
        const auto encoding = cursor.fixed<uint8_t>();
        cursor.pointer(encoding & 0x7f, 0);  // personality: not followed
      } else if (*c == 'L') {
        cursor.fixed<uint8_t>();
      } else if (*c == 'S') {
        out->signal_frame = true;
      } else if (*c != 'B') {
        return false;
      }
    }
    if (behind.fault || cursor.fault) return false;
    cursor.at = behind.at;
  } else if (augmentation[0] != 0) {
    return false;
  }
  out->initial_at = cursor.at;
  out->initial_end = cursor.end;
  return !cursor.fault && out->return_register < Registers::kCount && cursor.at <= cursor.end;
}

}  // namespace

uint64_t search_frame_header(uint64_t eh_frame_hdr, uint64_t pc) {
  Cursor cursor{eh_frame_hdr, eh_frame_hdr + 64, 0};
  const auto version = cursor.fixed<uint8_t>();
  const auto pointer_encoding = cursor.fixed<uint8_t>();
  const auto count_encoding = cursor.fixed<uint8_t>();
  const auto table_encoding = cursor.fixed<uint8_t>();
  if (cursor.fault || version != 1 || table_encoding != kTableDataRelative4) return 0;
  cursor.pointer(pointer_encoding, eh_frame_hdr);
  const uint64_t count = cursor.pointer(count_encoding, eh_frame_hdr);
  if (cursor.fault) return 0;
  const uint64_t table = cursor.at;
  const auto wanted = static_cast<int64_t>(pc - eh_frame_hdr);
  uint64_t low = 0, high = count;
  uint32_t fault = 0;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const auto start = guarded_load<int32_t>(table + middle * 8, &fault);
    if (start <= wanted) low = middle + 1; else high = middle;
  }
  if (low == 0 || fault) return 0;
  const auto entry = guarded_load<int32_t>(table + (low - 1) * 8 + 4, &fault);
  return fault ? 0 : eh_frame_hdr + static_cast<uint64_t>(int64_t{entry});
}

bool read_frame_description(uint64_t fde, FrameDescription* out) {
  Cursor cursor;
  if (!open_entry(fde, &cursor)) return false;
  const uint64_t id_at = cursor.at;
  const auto id = cursor.fixed<uint32_t>();
  if (id == 0 || !read_cie(id_at - id, out)) return false;
  out->code_low = cursor.pointer(out->pointer_encoding, 0);
  out->code_high = out->code_low + cursor.pointer(out->pointer_encoding & 0x0f, 0);
  if (out->sized_augmentation) cursor.skip(cursor.uleb());
  out->program_at = cursor.at;
  out->program_end = cursor.end;
  return !cursor.fault && cursor.at <= cursor.end;
}

}  // namespace sonde
