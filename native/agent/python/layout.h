// Where the fields of the interpreter's structures lie, by version. Offsets in bytes.
//
// 3.10 to 3.12 come from tables (layout_tables.cpp): these versions are closed, their structures
// no longer change. From 3.13 on the interpreter carries its own offsets (layout_debug_offsets.cpp).
#pragma once

#include <cstdint>

namespace sonde::python {

constexpr int16_t kAbsent = -1;

// How a frame tells which instruction it is at.
enum class Position : uint8_t {
  UnitIndex,  // int32: index of the two-byte unit (3.10)
  Pointer,    // address of the unit within the code object's bytes
};

struct Layout {
  int16_t thread_frame;   // thread state → newest frame (or → cframe when cframe_frame is present)
  int16_t thread_cframe;  // thread state → cframe on the C stack, kAbsent from 3.13 on
  int16_t cframe_frame;   // cframe → newest frame, kAbsent when the thread state has it itself
  int16_t cframe_previous;  // cframe → cframe of the evaluation call outside

  int16_t frame_previous;
  int16_t frame_code;
  int16_t frame_position;
  int16_t frame_owner;     // kAbsent in 3.10
  int16_t frame_is_entry;  // kAbsent where entry frames are told otherwise
  int16_t frame_locals;
  Position position;
  int8_t owner_c_stack;    // owner values ≥ this mark a shim inside the C frame of the
                           // evaluation loop: it has no code, and its caller side begins there.
                           // kAbsent: there are no shims
  bool every_frame_enters; // 3.10: each Python call is a C call of the evaluation loop

  int16_t code_file;
  int16_t code_name;  // co_qualname, in 3.10 co_name
  int16_t code_line_table;
  int16_t code_first_line;
  int16_t code_argument_count;
  int16_t code_instructions;  // kAbsent in 3.10, where positions are indices

  int16_t text_length;
  int16_t text_state;
  int16_t text_ascii_size;    // characters of an ASCII string begin there
  int16_t text_compact_size;  // characters of other compact strings begin there
  int8_t text_kind_shift;     // kind: 3 bits, then compact and ascii, 1 bit each
  int16_t bytes_size;
  int16_t bytes_data;
  int16_t object_type;
  int16_t cell_contents;
};

// The table for a closed version, null when there is none.
const Layout* table_layout(unsigned major, unsigned minor);

// From the `_Py_DebugOffsets` at the start of `_PyRuntime`. False with *why set when it is not
// of a version known here or its numbers make no sense.
bool debug_offsets_layout(const void* runtime, unsigned minor, Layout* out, const char** why);

}  // namespace sonde::python
