// Line tables without what nobody asks for.
//
// From 3.11 on co_linetable tells for every instruction the line, the end line and two columns: 1.2 KB for a usual
// function, and the largest part of a log of ten minutes. The lines alone, in the same encoding (so that readers
// need not know), take a quarter of that.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde::python {

// Writes the table with lines only to `out` and returns its size; 0 when it is malformed or `capacity` too small.
size_t lines_only(const uint8_t* table, size_t size, uint8_t* out, size_t capacity);

}  // namespace sonde::python
