#include "trace/huffman.h"

#include <algorithm>

namespace sonde::trace {
namespace {

constexpr std::uint32_t kNoSymbol = ~0U;

constexpr std::uint16_t kLengthBase[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                           31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr std::uint8_t kLengthExtra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                           2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
constexpr std::uint16_t kDistBase[30] = {1,   2,   3,   4,   5,   7,    9,    13,   17,   25,
                                         33,  49,  65,  97,  129, 193,  257,  385,  513,  769,
                                         1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
constexpr std::uint8_t kDistExtra[30] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                         6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

// The entry of a symbol, without the length of its code.
std::uint32_t entry_of(int symbol, Alphabet alphabet) {
  const auto number = static_cast<std::uint32_t>(symbol);
  if (alphabet == Alphabet::kCodeLengths) return number << 16;
  if (alphabet == Alphabet::kDistances) {
    if (symbol >= 30) return kNoSymbol;
    return static_cast<std::uint32_t>(kDistBase[symbol]) << 16 |
           static_cast<std::uint32_t>(kDistExtra[symbol]) << 8;
  }
  if (symbol < 256) return number << 16 | kLiteral;
  if (symbol == 256) return kEndOfBlock;
  if (symbol >= 286) return kNoSymbol;
  return static_cast<std::uint32_t>(kLengthBase[symbol - 257]) << 16 |
         static_cast<std::uint32_t>(kLengthExtra[symbol - 257]) << 8;
}

}  // namespace

bool build_table(const std::uint8_t* lengths, int count, int first_bits, std::uint32_t* table, int capacity,
                 Alphabet alphabet) {
  int per_length[16] = {};
  for (int i = 0; i < count; ++i) ++per_length[lengths[i]];
  per_length[0] = 0;
  int left = 1;
  std::uint32_t next_code[16] = {};
  std::uint32_t code = 0;
  for (int length = 1; length < 16; ++length) {
    left = left * 2 - per_length[length];
    if (left < 0) return false;  // more codes than bit patterns
    code = (code + static_cast<std::uint32_t>(per_length[length - 1])) << 1;
    next_code[length] = code;
  }
  std::fill(table, table + capacity, 0U);
  int used = 1 << first_bits;
  int longest = 15;
  while (longest > 1 && per_length[longest] == 0) --longest;
  for (int length = 1; length < 16; ++length) {
    for (int symbol = 0; symbol < count; ++symbol) {
      if (lengths[symbol] != length) continue;
      const int remaining = per_length[length]--;  // codes of this length not yet placed
      std::uint32_t reversed = 0;
      for (int b = 0; b < length; ++b) reversed |= ((next_code[length] >> b) & 1) << (length - 1 - b);
      ++next_code[length];
      const std::uint32_t entry = entry_of(symbol, alphabet);
      if (entry == kNoSymbol) continue;  // never valid in data: left as a hole
      if (length <= first_bits) {
        for (std::uint32_t i = reversed; i < (1U << first_bits); i += 1U << length) {
          table[i] = entry | static_cast<std::uint32_t>(length);
        }
        continue;
      }
      // A longer code: its first bits lead to a subtable sized for the longest code that shares them.
      const std::uint32_t prefix = reversed & ((1U << first_bits) - 1);
      if (table[prefix] == 0) {
        int sub_bits = length - first_bits;
        int room = (1 << sub_bits) - remaining;
        for (int longer = length + 1; longer <= longest && room > 0; ++longer) {
          ++sub_bits;
          room = room * 2 - per_length[longer];
        }
        if (used + (1 << sub_bits) > capacity) return false;
        table[prefix] = static_cast<std::uint32_t>(used) << 16 | kSubtable |
                        static_cast<std::uint32_t>(sub_bits) << 8 | static_cast<std::uint32_t>(first_bits);
        used += 1 << sub_bits;
      }
      const std::uint32_t start = table[prefix] >> 16;
      const int sub_bits = static_cast<int>((table[prefix] >> 8) & 0xF);
      if (length - first_bits > sub_bits) return false;
      for (std::uint32_t i = reversed >> first_bits; i < (1U << sub_bits); i += 1U << (length - first_bits)) {
        table[start + i] = entry | static_cast<std::uint32_t>(length - first_bits);
      }
    }
  }
  return true;
}

}  // namespace sonde::trace
