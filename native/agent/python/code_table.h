// Code objects seen in samples, each with a number; names and line tables are copied at first
// sight, in the handler, because the object may be gone a moment later.
//
// Two steps. A small cache maps (address, first line, name pointer, file pointer, a sample of the line
// table) to a number, so that a known code costs one lookup. On a miss the content is hashed and looked up in the table
// of contents: code that is compiled again and again keeps one number, and the table grows only
// with what is different. Both are fixed in size; what does not fit gets number 0 and is counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "python/layout.h"

namespace sonde::python {

struct CodeInfo {
  const char* name;  // UTF-8, not terminated
  uint32_t name_size;
  const char* file;
  uint32_t file_size;
  const char* line_table;  // raw co_linetable
  uint32_t line_table_size;
  int32_t first_line;
};

// What frames.cpp needs to know about a code without looking at its names again.
struct CodeRef {
  uint32_t number = 0;
  bool takes_module = false;  // a call frame of nn.Module or a `forward`: local 0 is the module
};

// Not async-signal-safe; once, before the first walk. False when memory is refused.
bool code_table_create();

// Async-signal-safe. Number 0 when the object at `address` cannot be read or there is no room.
CodeRef code_lookup(const Layout& layout, uint64_t address);

// Async-signal-safe. Ask for what code_lookup will read, in this order and with something to do in between.
void prefetch_code(const Layout& layout, uint64_t address);
void prefetch_line_table(const Layout& layout, uint64_t address);
void prefetch_table_sample(const Layout& layout, uint64_t address);

// For the background thread: numbers 1 … code_count() exist; `code_info` is false while
// the handler that took the number has not finished (ask again later).
uint32_t code_count();
bool code_info(uint32_t number, CodeInfo* out);

// Codes that got number 0 because a table was full or memory could not be read.
uint64_t code_losses_full();
uint64_t code_losses_unreadable();

}  // namespace sonde::python
