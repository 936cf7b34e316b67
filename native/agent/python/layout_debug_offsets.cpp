// The interpreter's own offsets (`_Py_DebugOffsets`), CPython 3.13 and 3.14.
//
// The structure is a list of 64-bit words whose order is fixed within a minor version;
// the word numbers below are counted in pycore_runtime.h (3.13) and pycore_debug_offsets.h (3.14).
#include <cstring>

#include "python/layout.h"

namespace sonde::python {
namespace {

struct WordNumbers {
  unsigned current_frame, frame_previous, frame_executable, frame_position, frame_locals, frame_owner;
  unsigned code_file, code_name, code_line_table, code_first_line, code_argument_count, code_instructions;
  unsigned object_size, object_type, bytes_size, bytes_data, text_state, text_length, text_ascii_size;
};

constexpr WordNumbers kWords313 = {
    .current_frame = 23, .frame_previous = 29, .frame_executable = 30, .frame_position = 31,
    .frame_locals = 32, .frame_owner = 33, .code_file = 35, .code_name = 37, .code_line_table = 38,
    .code_first_line = 39, .code_argument_count = 40, .code_instructions = 43, .object_size = 44,
    .object_type = 45, .bytes_size = 65, .bytes_data = 66, .text_state = 68, .text_length = 69,
    .text_ascii_size = 70,
};

constexpr WordNumbers kWords314 = {
    .current_frame = 26, .frame_previous = 32, .frame_executable = 33, .frame_position = 34,
    .frame_locals = 35, .frame_owner = 36, .code_file = 40, .code_name = 42, .code_line_table = 43,
    .code_first_line = 44, .code_argument_count = 45, .code_instructions = 48, .object_size = 50,
    .object_type = 51, .bytes_size = 75, .bytes_data = 76, .text_state = 78, .text_length = 79,
    .text_ascii_size = 80,
};

constexpr unsigned kVersionWord = 1, kFreeThreadedWord = 2;
constexpr uint64_t kLargestOffset = 4096;
constexpr int16_t kUtf8Fields = 16;  // utf8_length and utf8 follow the ASCII part in compact strings

}  // namespace

bool debug_offsets_layout(const void* runtime, unsigned minor, Layout* out, const char** why) {
  const WordNumbers* n = minor == 13 ? &kWords313 : minor == 14 ? &kWords314 : nullptr;
  if (n == nullptr) {
    *why = "this version of Python is not known: no Python frames";
    return false;
  }
  const auto* words = static_cast<const uint64_t*>(runtime);
  if (memcmp(runtime, "xdebugpy", 8) != 0 || (words[kVersionWord] >> 16) != (3u << 8 | minor)) {
    *why = "the offsets in _PyRuntime are not those of this Python version: no Python frames";
    return false;
  }
  if (words[kFreeThreadedWord] != 0) {
    // Its frames point into bytecode of their own thread, and its strings lie differently. Not tested: not claimed.
    *why = "free-threaded Python is not supported: no Python frames";
    return false;
  }
  bool sane = true;
  auto at = [&](unsigned word) {
    if (words[word] > kLargestOffset) sane = false;
    return static_cast<int16_t>(words[word]);
  };
  Layout l{};
  l.thread_frame = at(n->current_frame);
  l.thread_cframe = kAbsent;
  l.cframe_frame = kAbsent;
  l.cframe_previous = kAbsent;
  l.frame_previous = at(n->frame_previous);
  l.frame_code = at(n->frame_executable);
  l.frame_position = at(n->frame_position);
  l.frame_owner = at(n->frame_owner);
  l.frame_is_entry = kAbsent;
  l.frame_locals = at(n->frame_locals);
  l.position = Position::Pointer;
  l.owner_c_stack = 3;
  l.every_frame_enters = false;
  l.code_file = at(n->code_file);
  l.code_name = at(n->code_name);
  l.code_line_table = at(n->code_line_table);
  l.code_first_line = at(n->code_first_line);
  l.code_argument_count = at(n->code_argument_count);
  l.code_instructions = at(n->code_instructions);
  l.text_length = at(n->text_length);
  l.text_state = at(n->text_state);
  l.text_ascii_size = at(n->text_ascii_size);
  l.text_compact_size = static_cast<int16_t>(l.text_ascii_size + kUtf8Fields);
  l.text_kind_shift = 2;
  l.bytes_size = at(n->bytes_size);
  l.bytes_data = at(n->bytes_data);
  l.object_type = at(n->object_type);
  l.cell_contents = at(n->object_size);
  if (!sane) {
    *why = "the offsets in _PyRuntime make no sense: no Python frames";
    return false;
  }
  *out = l;
  return true;
}

}  // namespace sonde::python
