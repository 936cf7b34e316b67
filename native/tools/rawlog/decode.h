// A raw log as columns. Enters: the bytes of a .slog file, cut anywhere or damaged anywhere.
// Leaves: one int64 column per field and record type, a string table, and what could not be read.
// Invariant: reading never fails on content; everything up to the first bad chunk is kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../agent/log/format.h"
#include "rawlog/layout.h"

namespace sonde::rawlog {

struct Summary {
  int64_t bytes_total = 0;
  int64_t bytes_lost = 0;  // from the first short or damaged chunk to the end
  int64_t chunks = 0;
  int64_t records_malformed = 0;  // fields did not fit the record
  int64_t records_unknown = 0;    // types of a newer writer
  int64_t references_unknown = 0; // stack numbers that no record defined
  log::Lost lost;                 // as the writer counted: never became part of the file
  int64_t stop = 0;               // 0 end of file, 1 cut short, 2 bad magic, 3 bad checksum, 4 out of order
};

class Columns {
 public:
  void decode(const uint8_t* data, size_t size);

  // A log that still grows: decode what has come since, given all of the file behind `position()`. An unfinished chunk at
  // the end is no loss, it is read the next time.
  void decode_more(const uint8_t* data, size_t size);
  // The log goes on in the next file of a ring: what is decoded from here on is read from that file's start.
  void next_file();
  size_t position() const { return position_; }
  // Drop what was handed out and no later record refers to: samples, waits, readings. Names, threads and stacks stay.
  void forget_events();

  const std::vector<int64_t>& column(size_t type, size_t field) const { return columns_[type][field]; }
  size_t fields(size_t type) const { return columns_[type].size(); }
  const std::vector<std::string>& strings() const { return strings_; }
  const Summary& summary() const { return summary_; }

 private:
  // Node numbers of one table: id in the current epoch -> row.
  struct Nodes {
    std::vector<int64_t> row_of_id;
    uint64_t defined = 0;  // in the current epoch
    int64_t rows = 0;      // in all
    void define(uint64_t id);
    void forget() { row_of_id.clear(), defined = 0; }
    int64_t find(uint64_t id) const;
  };

  void prepare();
  void decode_chunks(const uint8_t* data, size_t size);
  size_t decode_preamble(const uint8_t* data, size_t size);  // bytes of it: 0 in version 1
  void decode_chunk(const uint8_t* data, const uint8_t* end);
  bool decode_record(size_t type, const uint8_t* at, const uint8_t* end);
  int64_t intern(std::string_view text);

  std::vector<std::vector<int64_t>> columns_[kTypes];
  std::vector<std::string> strings_;
  std::unordered_map<std::string, int64_t> string_numbers_;
  Nodes native_, python_;
  uint64_t epoch_ = 0;
  std::vector<int64_t> last_[kTypes];  // the last row of this session; none before its first
  uint64_t last_time_ = 0;
  int64_t chunks_before_ = 0;   // in the files before this one
  log::Lost lost_before_;
  size_t position_ = 0;  // behind the last chunk that was decoded
  Summary summary_;
};

}  // namespace sonde::rawlog
