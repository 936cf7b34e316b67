#include "rawlog/decode.h"

#include <cstddef>
#include <cstring>

#include "../agent/log/crc32c.h"
#include "../agent/log/format.h"

namespace sonde::rawlog {
namespace {

constexpr size_t kChunkHead = 16;
// The agent counts ids up from 1 in each epoch; some may be missing after a failed write. An id far beyond what was
// defined is damage, and must not allocate.
constexpr uint64_t kMissingIds = 4096;

bool read_varint(const uint8_t*& at, const uint8_t* end, uint64_t* out) {
  uint64_t value = 0;
  for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
    uint8_t byte = *at++;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (!(byte & 0x80)) {
      *out = value;
      return true;
    }
  }
  return false;
}

int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

uint32_t read_u32(const uint8_t* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

void Columns::Nodes::define(uint64_t id) {
  if (id <= 2 * ++defined + kMissingIds) {
    if (row_of_id.size() <= id) row_of_id.resize(id + 1, -2);
    row_of_id[id] = rows;
  }
  rows++;
}

int64_t Columns::Nodes::find(uint64_t id) const {
  if (id == 0) return -1;
  return id < row_of_id.size() ? row_of_id[id] : -2;
}

int64_t Columns::intern(std::string_view text) {
  auto [found, fresh] = string_numbers_.try_emplace(std::string(text), strings_.size());
  if (fresh) strings_.emplace_back(text);
  return found->second;
}

size_t Columns::decode_preamble(const uint8_t* data, size_t size) {
  log::Preamble preamble;
  if (size < sizeof preamble || read_u32(data) != log::kPreambleMagic) return 0;
  std::memcpy(&preamble, data, sizeof preamble);
  // A damaged one says nothing; where the chunks begin is the same in every file of this version.
  if (log::crc32c(data, offsetof(log::Preamble, checksum)) != preamble.checksum || preamble.bytes != sizeof preamble) {
    summary_.records_malformed++;
  } else {
    summary_.lost = {lost_before_.chunks + preamble.lost.chunks, lost_before_.samples + preamble.lost.samples,
                     lost_before_.cpu_ns + preamble.lost.cpu_ns, lost_before_.waits + preamble.lost.waits,
                     lost_before_.others + preamble.lost.others};
  }
  return sizeof preamble;
}

void Columns::prepare() {
  for (size_t type = 0; type < kTypes; type++) columns_[type].resize(std::strlen(kFields[type]));
}

void Columns::decode(const uint8_t* data, size_t size) {
  prepare();
  summary_.bytes_total = static_cast<int64_t>(size);
  position_ = decode_preamble(data, size);
  decode_chunks(data + position_, size - position_);
  summary_.bytes_lost = static_cast<int64_t>(size - position_);
}

void Columns::decode_more(const uint8_t* data, size_t size) {
  prepare();
  if (position_ == 0) {
    if (size < sizeof(log::Preamble)) return;
    position_ = decode_preamble(data, size);
    data += position_, size -= position_;
  }
  const size_t before = position_;
  decode_chunks(data, size);
  summary_.bytes_total = static_cast<int64_t>(position_);
  summary_.bytes_lost = static_cast<int64_t>(size - (position_ - before));
  if (summary_.stop == 1) summary_.stop = 0, summary_.bytes_lost = 0;
}

void Columns::next_file() {
  position_ = 0;
  chunks_before_ = summary_.chunks;
  lost_before_ = summary_.lost;
  summary_.stop = 0;
}

void Columns::decode_chunks(const uint8_t* data, size_t size) {
  size_t at = 0;
  while (at < size && summary_.stop == 0) {
    if (size - at < kChunkHead) {
      summary_.stop = 1;
      break;
    }
    size_t length = read_u32(data + at + 4);
    const uint8_t* payload = data + at + kChunkHead;
    if (read_u32(data + at) != log::kMagic) {
      summary_.stop = 2;
    } else if (length > size - at - kChunkHead) {
      summary_.stop = 1;
    } else if (log::crc32c(payload, length) != read_u32(data + at + 8)) {
      summary_.stop = 3;
    } else if (read_u32(data + at + 12) != static_cast<uint32_t>(summary_.chunks - chunks_before_)) {
      summary_.stop = 4;
    } else {
      decode_chunk(payload, payload + length);
      summary_.chunks++;
      at += kChunkHead + length;
    }
  }
  position_ += at;
}

void Columns::forget_events() {
  using log::Record;
  for (Record record : {Record::Sample, Record::Wait, Record::Counter, Record::Readings, Record::Loss, Record::Block,
                        Record::Base}) {
    for (auto& column : columns_[static_cast<size_t>(record)]) column.clear();
  }
}

void Columns::decode_chunk(const uint8_t* at, const uint8_t* end) {
  while (at < end) {
    size_t type = *at++;
    uint64_t length = 0;
    if (!read_varint(at, end, &length) || length > static_cast<uint64_t>(end - at)) {
      summary_.records_malformed++;
      return;
    }
    if (type == 0 || type >= kTypes) {
      summary_.records_unknown++;
    } else if (!decode_record(type, at, at + length)) {
      summary_.records_malformed++;
    }
    at += length;
  }
}

bool Columns::decode_record(size_t type, const uint8_t* at, const uint8_t* end) {
  const char* fields = kFields[type];
  int64_t row[16] = {};
  uint64_t new_native = 0, new_python = 0;
  uint64_t time = last_time_;
  for (size_t i = 0; fields[i]; i++) {
    uint64_t value = 0;
    if (fields[i] == 'o' && at == end) break;
    if (!read_varint(at, end, &value)) return false;
    switch (fields[i]) {
      case 'z': row[i] = unzigzag(value); break;
      case 'c': {  // unsigned: a damaged difference wraps
        const int64_t last = last_[type].empty() ? 0 : last_[type][i];
        row[i] = static_cast<int64_t>(static_cast<uint64_t>(unzigzag(value)) + static_cast<uint64_t>(last));
        break;
      }
      case 'd':
        time += static_cast<uint64_t>(unzigzag(value));
        row[i] = static_cast<int64_t>(time);
        break;
      case 't':
        if (value > static_cast<uint64_t>(end - at)) return false;
        row[i] = intern({reinterpret_cast<const char*>(at), value});
        at += value;
        break;
      case 'n': row[i] = native_.find(value); break;
      case 'p': row[i] = python_.find(value); break;
      case 'N': new_native = value, row[i] = native_.rows; break;
      case 'P': new_python = value, row[i] = python_.rows; break;
      default: row[i] = static_cast<int64_t>(value);
    }
    if (row[i] == -2 && (fields[i] == 'n' || fields[i] == 'p')) summary_.references_unknown++;
  }
  last_time_ = time;
  if (type == static_cast<size_t>(log::Record::Base)) {
    last_time_ = static_cast<uint64_t>(row[0]);
    if (static_cast<uint64_t>(row[1]) != epoch_) {
      epoch_ = static_cast<uint64_t>(row[1]);
      native_.forget();
      python_.forget();
    }
  }
  if (type == static_cast<size_t>(log::Record::Gap)) {
    for (auto& last : last_) last.clear();
  }
  if (new_native) native_.define(new_native);
  if (new_python) python_.define(new_python);
  for (size_t i = 0; fields[i]; i++) columns_[type][i].push_back(row[i]);
  if (type == static_cast<size_t>(log::Record::Readings)) last_[type].assign(row, row + columns_[type].size());
  return true;
}

}  // namespace sonde::rawlog
