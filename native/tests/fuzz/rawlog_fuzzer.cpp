// The raw log decoder under a fuzzer: any bytes in, no crash, no leak, bounded memory out.
// The first bytes choose how the rest is cut into chunks; their marks and checksums are then made right, or no
// mutation would ever get past them.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../agent/log/crc32c.h"
#include "../agent/log/format.h"
#include "rawlog/decode.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void append(std::vector<std::uint8_t>* log, const std::uint8_t* payload, std::size_t size, std::uint32_t number) {
  const std::uint32_t head[4] = {sonde::log::kMagic, static_cast<std::uint32_t>(size),
                                 sonde::log::crc32c(payload, size), number};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(head);
  log->insert(log->end(), bytes, bytes + sizeof head);
  log->insert(log->end(), payload, payload + size);
}

void decode(const std::uint8_t* data, std::size_t size) {
  sonde::rawlog::Columns columns;
  columns.decode(data, size);
  for (std::size_t type = 0; type < sonde::rawlog::kTypes; ++type) {
    for (std::size_t field = 1; field < columns.fields(type); ++field) {
      if (columns.column(type, field).size() != columns.column(type, 0).size()) __builtin_trap();
    }
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  decode(data, size);
  if (size < 2) return 0;
  const std::size_t step = 1 + data[0] * std::size_t{16};
  std::vector<std::uint8_t> log;
  std::uint32_t number = 0;
  for (std::size_t at = 1; at < size; at += step) {
    append(&log, data + at, step < size - at ? step : size - at, number++);
  }
  decode(log.data(), log.size());
  return 0;
}
