#include "trace/crc.h"

#include <cstring>

#include "trace/crc_fold.h"

namespace sonde::trace {
namespace {

struct CrcTables {
  std::uint32_t table[8][256];
  constexpr CrcTables() : table() {
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = (c & 1) != 0 ? 0xEDB88320U ^ (c >> 1) : c >> 1;
      table[0][i] = c;
    }
    for (int t = 1; t < 8; ++t) {
      for (int i = 0; i < 256; ++i) {
        table[t][i] = (table[t - 1][i] >> 8) ^ table[0][table[t - 1][i] & 0xFF];
      }
    }
  }
};
constexpr CrcTables kCrc;

}  // namespace

std::uint32_t crc32(std::uint32_t crc, const std::uint8_t* data, std::size_t size) {
  std::uint32_t c = ~crc;
  const std::size_t folded = fold_crc32(&c, data, size);
  data += folded;
  size -= folded;
  const auto& t = kCrc.table;
  for (; size >= 8; size -= 8, data += 8) {
    std::uint64_t w;
    std::memcpy(&w, data, 8);
    w ^= c;
    c = t[7][w & 0xFF] ^ t[6][(w >> 8) & 0xFF] ^ t[5][(w >> 16) & 0xFF] ^ t[4][(w >> 24) & 0xFF] ^
        t[3][(w >> 32) & 0xFF] ^ t[2][(w >> 40) & 0xFF] ^ t[1][(w >> 48) & 0xFF] ^ t[0][w >> 56];
  }
  for (; size > 0; --size, ++data) c = t[0][(c ^ *data) & 0xFF] ^ (c >> 8);
  return ~c;
}

}  // namespace sonde::trace
