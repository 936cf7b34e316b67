// Appends records to the raw log (format.h). Used by the background thread alone.
// Not async-signal-safe. Enters: records, field by field. Leaves: whole chunks, each by one write(2).
// Invariant: after a write that failed nothing more is written, only counted, until go_on(): what would follow
// could refer to what is not there.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "log/format.h"

namespace sonde::log {

class Writer {
 public:
  // Creates the file with its preamble; false and the log stays closed (and leaves no file) when that fails.
  bool open(const char* path);
  bool is_open() const { return open_; }
  void close();      // flushes first
  // The file so far becomes FILE.`part`, FILE.`part - kept` is removed, and a new one goes on under the usual name.
  // False: that is not possible now, and the log goes on in the file that it has.
  bool turn(uint32_t part, uint32_t kept);
  void abandon();    // forgets the file without writing: the child side of a fork

  // One record: begin, fields in the order of format.h, end.
  Writer& begin(Record type);
  Writer& number(uint64_t value);
  Writer& signed_number(int64_t value);  // zigzag
  Writer& text(const char* text);
  Writer& bytes(const void* data, size_t size);
  Writer& time_delta(uint64_t time_ns);  // for Sample and Wait
  void end();

  // What the Sample or Wait record in progress stands for: counted as lost if its chunk is.
  void stands_for_sample(uint64_t cpu_ns) { pending_.samples++, pending_.cpu_ns += cpu_ns; }
  void stands_for_wait() { pending_.waits++; }
  void count_lost(uint64_t samples, uint64_t cpu_ns) { lost_.samples += samples, lost_.cpu_ns += cpu_ns; }
  void set_other_losses(uint64_t count) { lost_.others = count; }  // kept with the next flush

  // Writes what is buffered as one chunk; nothing when empty. False: it is lost, and so is what follows.
  bool flush();
  bool broken() const { return broken_; }
  void go_on() { broken_ = false; }  // the caller says everything again
  uint64_t whole_until_ns() const { return whole_until_ns_; }  // all that was written by then is in the file
  const Lost& lost() const { return lost_; }

  uint64_t file_bytes() const { return end_; }
  uint64_t bytes_written() const { return bytes_written_; }
  uint64_t refused() const { return refused_; }  // records that were too large
  void set_node_epoch(uint64_t epoch);  // flushes; later chunks carry the new epoch

 private:
  bool start_chunk();
  void put(uint8_t byte);
  bool write_at(uint64_t at, const void* data, size_t size);
  bool write_preamble();
  bool create(const char* path);  // with its preamble; leaves no file when that fails
  bool still_ours();  // is fd_ still the file we opened? (programs close descriptors they do not own)

  bool open_ = false;
  int fd_ = -1;  // -1 while open: the program closed it and the file could not be opened again
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
  uint64_t end_ = 0;            // of what is whole in the file
  uint64_t whole_until_ns_ = 0;
  bool broken_ = false;
  Lost pending_, lost_;         // of the chunk in the buffer, and for good
  uint64_t saved_ = 0;          // sum of `lost_` in the file's preamble
  uint64_t bytes_written_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace sonde::log
