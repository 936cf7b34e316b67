// Canonical Huffman codes of DEFLATE as two-level tables, ready for the decoding loop.
#pragma once

#include <cstdint>

namespace sonde::trace {

// A table entry: value << 16 | flag | extra bits << 8 | bits of the code. A code of length 0 marks
// a pattern that no symbol has. For kSubtable the value is the subtable's start and `extra` its bits.
inline constexpr std::uint32_t kLiteral = 0x8000;
inline constexpr std::uint32_t kSubtable = 0x4000;
inline constexpr std::uint32_t kEndOfBlock = 0x2000;

// What the symbols of an alphabet stand for.
enum class Alphabet { kLiterals, kDistances, kCodeLengths };

// Fills `table` from the code length of each symbol; false when the lengths make no code.
bool build_table(const std::uint8_t* lengths, int count, int first_bits, std::uint32_t* table, int capacity,
                 Alphabet alphabet);

}  // namespace sonde::trace
