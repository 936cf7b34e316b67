// CRC-32 as gzip defines it, 64 bytes at a time where the processor can, else eight.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde::trace {

// `crc` is the value so far, 0 at the start.
std::uint32_t crc32(std::uint32_t crc, const std::uint8_t* data, std::size_t size);

}  // namespace sonde::trace
