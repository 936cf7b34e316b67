// Layouts of CPython 3.10, 3.11 and 3.12 on 64-bit Linux, as offsetof() gives them.
#include "python/layout.h"

namespace sonde::python {
namespace {

constexpr Layout kPython310 = {
    .thread_frame = 24, .thread_cframe = 48, .cframe_frame = kAbsent, .cframe_previous = kAbsent,
    .frame_previous = 24, .frame_code = 32, .frame_position = 96, .frame_owner = kAbsent,
    .frame_is_entry = kAbsent, .frame_locals = 352,
    .position = Position::UnitIndex, .owner_c_stack = kAbsent, .every_frame_enters = true,
    .code_file = 104, .code_name = 112, .code_line_table = 120, .code_first_line = 40,
    .code_argument_count = 16, .code_instructions = kAbsent,
    .text_length = 16, .text_state = 32, .text_ascii_size = 48, .text_compact_size = 72,
    .text_kind_shift = 2, .bytes_size = 16, .bytes_data = 32, .object_type = 8, .cell_contents = 16,
};

constexpr Layout kPython311 = {
    .thread_frame = kAbsent, .thread_cframe = 56, .cframe_frame = 8, .cframe_previous = 16,
    .frame_previous = 48, .frame_code = 32, .frame_position = 56, .frame_owner = 69,
    .frame_is_entry = 68, .frame_locals = 72,
    .position = Position::Pointer, .owner_c_stack = kAbsent, .every_frame_enters = false,
    .code_file = 112, .code_name = 128, .code_line_table = 136, .code_first_line = 72,
    .code_argument_count = 56, .code_instructions = 184,
    .text_length = 16, .text_state = 32, .text_ascii_size = 48, .text_compact_size = 72,
    .text_kind_shift = 2, .bytes_size = 16, .bytes_data = 32, .object_type = 8, .cell_contents = 16,
};

constexpr Layout kPython312 = {
    .thread_frame = kAbsent, .thread_cframe = 56, .cframe_frame = 0, .cframe_previous = 8,
    .frame_previous = 8, .frame_code = 0, .frame_position = 56, .frame_owner = 70,
    .frame_is_entry = kAbsent, .frame_locals = 72,
    .position = Position::Pointer, .owner_c_stack = 3, .every_frame_enters = false,
    .code_file = 112, .code_name = 128, .code_line_table = 136, .code_first_line = 68,
    .code_argument_count = 52, .code_instructions = 192,
    .text_length = 16, .text_state = 32, .text_ascii_size = 40, .text_compact_size = 56,
    .text_kind_shift = 2, .bytes_size = 16, .bytes_data = 32, .object_type = 8, .cell_contents = 16,
};

}  // namespace

const Layout* table_layout(unsigned major, unsigned minor) {
  if (major != 3) return nullptr;
  switch (minor) {
    case 10: return &kPython310;
    case 11: return &kPython311;
    case 12: return &kPython312;
    default: return nullptr;
  }
}

}  // namespace sonde::python
