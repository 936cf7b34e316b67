// Jumps with a 32-bit displacement, conditional or not, in a range of code (arch/arch.h).
#include <cstring>

#include "arch/arch.h"

namespace sonde {

void for_each_jump(uint64_t begin, uint64_t end, void (*use)(uint64_t target, void* data), void* data) {
  const auto* code = reinterpret_cast<const unsigned char*>(begin);
  const uint64_t size = end - begin;
  for (uint64_t i = 0; i + 6 <= size; ++i) {
    const bool conditional = code[i] == 0x0f && (code[i + 1] & 0xf0) == 0x80;
    if (!conditional && code[i] != 0xe9) continue;
    const uint64_t at = i + (conditional ? 2 : 1);
    int32_t displacement;
    memcpy(&displacement, code + at, sizeof displacement);
    use(begin + at + 4 + static_cast<uint64_t>(int64_t{displacement}), data);
  }
}

}  // namespace sonde
