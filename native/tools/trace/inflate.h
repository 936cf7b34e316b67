// gzip (RFC 1951, 1952) decoding in a stream, with several members and both checksums tested.
// An own decoder keeps the wheel free of dependencies; tables are two-level (11 and 8 bits first),
// input is taken 8 bytes at a time. Memory: about 400 kB, whatever the file says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace sonde::trace {

class Inflater {
 public:
  enum class Failure { kNone, kTruncated, kCorrupt, kChecksum, kTrailingGarbage };

  // `read` fills a buffer and returns the bytes given, 0 at the end of the file.
  using Read = std::function<std::size_t(char*, std::size_t)>;

  explicit Inflater(Read read);

  // The next stretch of plain bytes, valid until the next call; empty at the end or on failure.
  std::size_t next(const char** data);

  Failure failure() const { return failure_; }
  std::uint64_t consumed() const { return consumed_; }  // compressed bytes read from the file

 private:
  static constexpr std::size_t kHistory = 32768;
  static constexpr std::size_t kChunk = 256 * 1024;
  static constexpr std::size_t kInput = 64 * 1024;
  static constexpr int kLitBits = 11;
  static constexpr int kDistBits = 8;
  enum class State { kHeader, kBlock, kStored, kCodes, kTrailer, kEnd };

  void refill();
  void more_input();
  bool overrun() const;
  std::uint32_t bits(int count);
  bool byte(std::uint8_t* out);
  void fail(Failure failure);
  void header();
  void block();
  void stored();
  void codes();
  void trailer();
  bool read_lengths();

  Read read_;
  State state_ = State::kHeader;
  Failure failure_ = Failure::kNone;
  bool last_block_ = false;
  bool input_ended_ = false;
  bool first_member_ = true;
  std::uint32_t stored_left_ = 0;
  std::uint64_t consumed_ = 0;
  std::uint64_t bit_buffer_ = 0;
  int bit_count_ = 0;
  std::vector<char> input_;
  const std::uint8_t* in_ = nullptr;
  const std::uint8_t* in_end_ = nullptr;
  std::vector<std::uint8_t> output_;
  std::uint8_t* out_ = nullptr;      // next byte to write
  std::uint8_t* given_ = nullptr;    // first byte not yet handed out
  std::uint8_t* history_ = nullptr;  // first byte that a match of this member may reach
  std::uint32_t crc_ = 0;
  std::uint32_t member_bytes_ = 0;
  std::array<std::uint32_t, 2400> lit_table_{};
  std::array<std::uint32_t, 1024> dist_table_{};
};

}  // namespace sonde::trace
