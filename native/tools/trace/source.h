// The bytes of a trace: a plain or gzip'ed file read in chunks into one buffer that the parser owns
// a window of. The kind is decided by content, never by the file's name.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "trace/inflate.h"
#include "trace/inflate_ahead.h"
#include "trace/scan.h"

namespace sonde::trace {

// Input that cannot be read at all; the message says what was seen.
struct InputFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Source {
 public:
  // Reads a file. `ratio_limit` guards against gzip bombs: plain bytes per compressed byte.
  Source(const char* path, std::uint64_t ratio_limit);
  // Reads `size` bytes at `data`, which stay the caller's (tests and fuzzing). `inflate_ahead` takes the
  // thread that large files get, whatever the size.
  Source(const char* data, std::size_t size, std::uint64_t ratio_limit, bool inflate_ahead = false);
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const char* begin() const { return begin_; }
  const char* end() const { return end_; }  // kPadding zero bytes follow
  bool at_end() const { return ended_; }    // nothing comes after end()

  // Drops what is before `keep` and reads on; begin() then holds the byte that `keep` pointed to.
  // False when nothing new came. Throws InputFailure when `keep` on would grow beyond `limit`.
  bool advance(const char* keep, std::size_t limit);

  std::uint64_t position(const char* p) const {
    return dropped_ + static_cast<std::uint64_t>(p - buffer_.data());
  }
  std::uint64_t plain_bytes() const { return plain_bytes_; }
  std::uint64_t file_bytes() const { return file_bytes_; }
  bool compressed() const { return inflater_ != nullptr; }
  Inflater::Failure inflate_failure() const;

 private:
  void start(std::uint64_t ratio_limit, bool inflate_ahead);
  std::size_t read_raw(char* out, std::size_t size);
  std::size_t read_plain(char* out, std::size_t size);

  int file_ = -1;
  const char* memory_ = nullptr;
  std::size_t memory_left_ = 0;
  std::vector<char> head_;  // first bytes, read to tell the kind
  std::size_t head_at_ = 0;
  std::unique_ptr<Inflater> inflater_;
  std::unique_ptr<InflateAhead> ahead_;  // goes before inflater_, which its thread uses
  std::uint64_t consumed_ = 0;           // compressed bytes behind what was taken
  const char* chunk_ = nullptr;  // inflated bytes not yet taken
  std::size_t chunk_left_ = 0;
  std::vector<char> buffer_;
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
  bool ended_ = false;
  std::uint64_t dropped_ = 0;
  std::uint64_t plain_bytes_ = 0;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t ratio_limit_ = 0;
};

}  // namespace sonde::trace
