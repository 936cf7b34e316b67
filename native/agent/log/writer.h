// Appends records to the raw log (format.h). Used by the background thread alone.
// Not async-signal-safe. Enters: records, field by field. Leaves: whole chunks, each by one write(2).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "log/format.h"

namespace sonde::log {

class Writer {
 public:
  // Opens (creates) the file; false and the log stays closed when that fails.
  bool open(const char* path);
  bool is_open() const { return fd_ >= 0; }
  void close();      // flushes first
  void abandon();    // forgets the file without writing: the child side of a fork

  // One record: begin, fields in the order of format.h, end.
  Writer& begin(Record type);
  Writer& number(uint64_t value);
  Writer& signed_number(int64_t value);  // zigzag
  Writer& text(const char* text);
  Writer& bytes(const void* data, size_t size);
  Writer& time_delta(uint64_t time_ns);  // for Sample and Wait
  void end();

  void flush();  // writes what is buffered as one chunk; nothing when empty

  uint64_t bytes_written() const { return bytes_written_; }
  uint64_t write_failures() const { return write_failures_; }
  void set_node_epoch(uint64_t epoch);  // flushes; later chunks carry the new epoch

 private:
  bool start_chunk();
  void put(uint8_t byte);
  bool still_ours();  // is fd_ still the file we opened? (programs close descriptors they do not own)

  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  char path_[512] = {};
  uint8_t* buffer_ = nullptr;
  size_t used_ = 0;
  size_t record_start_ = 0;  // of the open record's payload; its head is moved in by end()
  Record record_type_ = Record::Header;
  bool overflow_ = false;
  uint64_t last_time_ns_ = 0;
  uint64_t node_epoch_ = 0;
  uint32_t chunk_ = 0;
  uint64_t bytes_written_ = 0;
  uint64_t write_failures_ = 0;
};

}  // namespace sonde::log
