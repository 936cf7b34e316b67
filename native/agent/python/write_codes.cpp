// Code records of the raw log, written by the background thread: those that a written stack refers to.
// A forked worker inherits the parent's whole table (a megabyte) and uses a handful of it.
#include "common/mapped_array.h"
#include "log/loss.h"
#include "python/code_table.h"
#include "python/frames.h"
#include "python/interpreter.h"
#include "python/line_table.h"

namespace sonde {
namespace {

uint8_t short_table[64u << 10];  // a larger one is written as it is

constexpr uint32_t kMaxNumber = 1u << 18;  // numbers are smaller (code_table.cpp)
uint64_t wanted[kMaxNumber / 64];          // bit: written, or waiting in `pending`
MappedArray<uint32_t> pending;
uint64_t full_counted = 0;

}  // namespace

void python_want_code(uint32_t code) {
  if (code == 0 || code >= kMaxNumber) return;
  uint64_t bit = uint64_t{1} << (code & 63);
  if (wanted[code / 64] & bit) return;
  if (pending.push(code)) wanted[code / 64] |= bit;
}

void python_write_codes(log::Writer& log) {
  size_t kept = 0;
  for (size_t i = 0; i < pending.size(); i++) {
    const uint32_t number = pending[i];
    python::CodeInfo code;
    if (!python::code_info(number, &code)) {  // a handler is at it: next time
      pending[kept++] = number;
      continue;
    }
    auto lines = reinterpret_cast<const uint8_t*>(code.line_table);
    size_t lines_size = code.line_table_size;
    const python::Interpreter* python = python::interpreter();
    if (python && python->layout.position == python::Position::Pointer) {  // 3.10 has lines only
      const size_t shorter = python::lines_only(lines, lines_size, short_table, sizeof short_table);
      if (shorter && shorter < lines_size) lines = short_table, lines_size = shorter;
    }
    log.begin(log::Record::Code)
        .number(number)
        .bytes(code.name, code.name_size)
        .bytes(code.file, code.file_size)
        .number(static_cast<uint64_t>(code.first_line < 0 ? 0 : code.first_line))
        .bytes(lines, lines_size);
    log.end();
  }
  pending.resize_down(kept);
  const uint64_t full = python::code_losses_full() + python::code_losses_unreadable();
  if (full > full_counted) count_loss(Loss::CodeTableFull, full - full_counted);
  full_counted = full;
}

void python_forget_written() {
  for (uint64_t& word : wanted) word = 0;
  pending.clear();
}

}  // namespace sonde
