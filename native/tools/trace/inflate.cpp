#include "trace/inflate.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "trace/crc.h"
#include "trace/huffman.h"

namespace sonde::trace {
namespace {

constexpr std::size_t kInputPadding = 64;
constexpr std::size_t kOutputSlack = 320;  // longest match plus the overshoot of word copies

std::uint64_t load64(const std::uint8_t* p) {
  std::uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

}  // namespace

Inflater::Inflater(Read read)
    : read_(std::move(read)), input_(kInput + kInputPadding), output_(kHistory + kChunk + kOutputSlack) {
  in_ = in_end_ = reinterpret_cast<const std::uint8_t*>(input_.data());
  out_ = given_ = history_ = output_.data();
}

void Inflater::fail(Failure failure) {
  failure_ = failure;
  state_ = State::kEnd;
}

// Keeps at least 16 readable bytes ahead, real ones while the file has them, zeros after its end.
void Inflater::more_input() {
  auto* base = reinterpret_cast<std::uint8_t*>(input_.data());
  if (input_ended_) return;
  const auto left = static_cast<std::size_t>(in_end_ - in_);
  std::memmove(base, in_, left);
  std::size_t have = left;
  while (have < 4096) {
    const std::size_t got = read_(input_.data() + have, kInput - have);
    if (got == 0) {
      input_ended_ = true;
      break;
    }
    consumed_ += got;
    have += got;
  }
  std::memset(base + have, 0, kInputPadding);
  in_ = base;
  in_end_ = base + have;
}

inline void Inflater::refill() {
  if (in_end_ - in_ < 16 && !input_ended_) more_input();
  if (in_ > in_end_ + 32) return;  // far beyond the end: overrun() has the say
  bit_buffer_ |= load64(in_) << bit_count_;
  in_ += (63 - bit_count_) >> 3;
  bit_count_ |= 56;
}

// Whether bits beyond the end of the file have been used.
inline bool Inflater::overrun() const { return in_ - (bit_count_ >> 3) > in_end_; }

std::uint32_t Inflater::bits(int count) {
  refill();
  const auto value = static_cast<std::uint32_t>(bit_buffer_ & ((1ULL << count) - 1));
  bit_buffer_ >>= count;
  bit_count_ -= count;
  return value;
}

bool Inflater::byte(std::uint8_t* out) {
  *out = static_cast<std::uint8_t>(bits(8));
  return !overrun();
}

void Inflater::header() {
  std::uint8_t b[10];
  // Between members: whatever is not a gzip magic is garbage, and the end of the file is the end.
  refill();
  if (!first_member_ && in_ - (bit_count_ >> 3) >= in_end_) {
    state_ = State::kEnd;
    return;
  }
  for (auto& x : b) {
    if (!byte(&x)) return fail(first_member_ ? Failure::kTruncated : Failure::kTrailingGarbage);
  }
  if (b[0] != 0x1F || b[1] != 0x8B || b[2] != 8) {
    return fail(first_member_ ? Failure::kCorrupt : Failure::kTrailingGarbage);
  }
  const int flags = b[3];
  std::uint8_t x = 0;
  if ((flags & 4) != 0) {
    std::uint8_t low = 0;
    std::uint8_t high = 0;
    if (!byte(&low) || !byte(&high)) return fail(Failure::kTruncated);
    for (int i = low | high << 8; i > 0; --i) {
      if (!byte(&x)) return fail(Failure::kTruncated);
    }
  }
  for (const int text : {8, 16}) {
    if ((flags & text) == 0) continue;
    do {
      if (!byte(&x)) return fail(Failure::kTruncated);
    } while (x != 0);
  }
  if ((flags & 2) != 0 && (!byte(&x) || !byte(&x))) return fail(Failure::kTruncated);
  first_member_ = false;
  last_block_ = false;
  crc_ = 0;
  member_bytes_ = 0;
  history_ = out_;
  state_ = State::kBlock;
}

void Inflater::trailer() {
  std::uint8_t b[8];
  bits(bit_count_ & 7);
  for (auto& x : b) {
    if (!byte(&x)) return fail(Failure::kTruncated);
  }
  std::uint32_t crc;
  std::uint32_t size;
  std::memcpy(&crc, b, 4);
  std::memcpy(&size, b + 4, 4);
  crc_ = crc32(crc_, given_, static_cast<std::size_t>(out_ - given_));
  member_bytes_ += static_cast<std::uint32_t>(out_ - given_);
  if (crc != crc_ || size != member_bytes_) return fail(Failure::kChecksum);
  state_ = State::kHeader;
}

void Inflater::block() {
  if (last_block_) {
    state_ = State::kTrailer;
    return;
  }
  last_block_ = bits(1) != 0;
  const std::uint32_t kind = bits(2);
  if (overrun()) return fail(Failure::kTruncated);
  if (kind == 0) {
    bits(bit_count_ & 7);
    const std::uint32_t length = bits(16);
    const std::uint32_t check = bits(16);
    if (overrun()) return fail(Failure::kTruncated);
    if ((length ^ 0xFFFF) != check) return fail(Failure::kCorrupt);
    stored_left_ = length;
    state_ = State::kStored;
  } else if (kind == 1) {
    std::uint8_t lengths[288];
    std::fill(lengths, lengths + 144, 8);
    std::fill(lengths + 144, lengths + 256, 9);
    std::fill(lengths + 256, lengths + 280, 7);
    std::fill(lengths + 280, lengths + 288, 8);
    std::uint8_t distances[32];
    std::fill(distances, distances + 32, 5);
    build_table(lengths, 288, kLitBits, lit_table_.data(), static_cast<int>(lit_table_.size()), Alphabet::kLiterals);
    build_table(distances, 32, kDistBits, dist_table_.data(), static_cast<int>(dist_table_.size()), Alphabet::kDistances);
    state_ = State::kCodes;
  } else if (kind == 2) {
    if (read_lengths()) state_ = State::kCodes;
  } else {
    fail(Failure::kCorrupt);
  }
}

bool Inflater::read_lengths() {
  static constexpr std::uint8_t kOrder[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                              11, 4,  12, 3, 13, 2, 14, 1, 15};
  const int literals = static_cast<int>(bits(5)) + 257;
  const int distances = static_cast<int>(bits(5)) + 1;
  const int codes_given = static_cast<int>(bits(4)) + 4;
  std::uint8_t meta[19] = {};
  for (int i = 0; i < codes_given; ++i) meta[kOrder[i]] = static_cast<std::uint8_t>(bits(3));
  if (!build_table(meta, 19, 7, lit_table_.data(), static_cast<int>(lit_table_.size()), Alphabet::kCodeLengths)) {
    fail(Failure::kCorrupt);
    return false;
  }
  std::uint8_t lengths[288 + 32] = {};
  int at = 0;
  const int total = literals + distances;
  while (at < total) {
    refill();
    const std::uint32_t entry = lit_table_[bit_buffer_ & 127];
    const int used = static_cast<int>(entry & 0xFF);
    if (used == 0 || overrun()) {
      fail(overrun() ? Failure::kTruncated : Failure::kCorrupt);
      return false;
    }
    bit_buffer_ >>= used;
    bit_count_ -= used;
    const std::uint32_t symbol = entry >> 16;
    int repeat = 1;
    std::uint8_t value = static_cast<std::uint8_t>(symbol);
    if (symbol == 16) {
      if (at == 0) {
        fail(Failure::kCorrupt);
        return false;
      }
      value = lengths[at - 1];
      repeat = 3 + static_cast<int>(bits(2));
    } else if (symbol == 17) {
      value = 0;
      repeat = 3 + static_cast<int>(bits(3));
    } else if (symbol == 18) {
      value = 0;
      repeat = 11 + static_cast<int>(bits(7));
    }
    if (at + repeat > total) {
      fail(Failure::kCorrupt);
      return false;
    }
    std::fill(lengths + at, lengths + at + repeat, value);
    at += repeat;
  }
  const bool fine =
      literals <= 286 && lengths[256] != 0 &&
      build_table(lengths, literals, kLitBits, lit_table_.data(), static_cast<int>(lit_table_.size()), Alphabet::kLiterals) &&
      build_table(lengths + literals, distances, kDistBits, dist_table_.data(), static_cast<int>(dist_table_.size()), Alphabet::kDistances);
  if (!fine) fail(overrun() ? Failure::kTruncated : Failure::kCorrupt);
  return fine;
}

void Inflater::stored() {
  const std::uint8_t* limit = output_.data() + kHistory + kChunk;
  while (stored_left_ > 0 && out_ < limit) {
    if (bit_count_ >= 8) {
      *out_++ = static_cast<std::uint8_t>(bit_buffer_);
      bit_buffer_ >>= 8;
      bit_count_ -= 8;
      --stored_left_;
      if (overrun()) return fail(Failure::kTruncated);
      continue;
    }
    bit_buffer_ = 0;
    bit_count_ = 0;
    if (in_ >= in_end_) more_input();
    if (in_ >= in_end_) return fail(Failure::kTruncated);
    const std::size_t n = std::min({static_cast<std::size_t>(stored_left_),
                                    static_cast<std::size_t>(in_end_ - in_),
                                    static_cast<std::size_t>(limit - out_)});
    std::memcpy(out_, in_, n);
    out_ += n;
    in_ += n;
    stored_left_ -= static_cast<std::uint32_t>(n);
  }
  if (stored_left_ == 0) state_ = State::kBlock;
}

// The hot loop. It works on copies of the bit reader's state, which a store through `out` could otherwise change.
// refill() leaves at least 56 bits: enough for a length code with its extra bits and a distance code with its own
// (48 at most).
void Inflater::codes() {
  std::uint8_t* out = out_;
  const std::uint8_t* limit = output_.data() + kHistory + kChunk;
  const std::uint32_t* const literals = lit_table_.data();
  const std::uint32_t* const distances = dist_table_.data();
  constexpr std::uint32_t kLitMask = (1U << kLitBits) - 1;
  constexpr std::uint32_t kDistMask = (1U << kDistBits) - 1;
  const std::uint8_t* in = in_;
  const std::uint8_t* in_end = in_end_;
  std::uint64_t buffer = bit_buffer_;
  int count = bit_count_;
  const auto take = [&](int bits) {
    buffer >>= bits;
    count -= bits;
  };
  const auto fill = [&] {
    if (in_end - in < 16) [[unlikely]] {
      in_ = in;
      if (!input_ended_) more_input();
      in = in_;
      in_end = in_end_;
      if (in > in_end + 32) return;  // far beyond the end: beyond() has the say
    }
    buffer |= load64(in) << count;
    in += (63 - count) >> 3;
    count |= 56;
  };
  const auto beyond = [&] { return in - (count >> 3) > in_end; };
  const auto leave = [&](State state) {
    out_ = out;
    in_ = in;
    bit_buffer_ = buffer;
    bit_count_ = count;
    state_ = state;
    if (beyond()) fail(Failure::kTruncated);
  };
  const auto corrupt = [&] {
    leave(State::kEnd);
    if (failure_ == Failure::kNone) fail(Failure::kCorrupt);
  };
  while (out < limit) {
    fill();
    std::uint32_t entry = literals[buffer & kLitMask];
    // Literals come in runs; two short codes leave enough bits for a third look-up.
    for (int i = 0; i < 3 && (entry & kLiteral) != 0; ++i) {
      take(static_cast<int>(entry & 0xFF));
      *out++ = static_cast<std::uint8_t>(entry >> 16);
      entry = literals[buffer & kLitMask];
    }
    if ((entry & kLiteral) != 0) {
      if (beyond()) break;
      continue;
    }
    fill();
    if ((entry & kSubtable) != 0) {
      take(kLitBits);
      entry = literals[(entry >> 16) + (buffer & ((1U << ((entry >> 8) & 0xF)) - 1))];
      if ((entry & kLiteral) != 0) {
        take(static_cast<int>(entry & 0xFF));
        *out++ = static_cast<std::uint8_t>(entry >> 16);
        if (beyond()) break;
        continue;
      }
    }
    if ((entry & 0xFF) == 0) return corrupt();
    take(static_cast<int>(entry & 0xFF));
    if (beyond()) break;
    if ((entry & kEndOfBlock) != 0) return leave(State::kBlock);
    const int length_extra = static_cast<int>((entry >> 8) & 0xF);
    const std::size_t length = (entry >> 16) + (buffer & ((1U << length_extra) - 1));
    take(length_extra);
    entry = distances[buffer & kDistMask];
    if ((entry & kSubtable) != 0) {
      take(kDistBits);
      entry = distances[(entry >> 16) + (buffer & ((1U << ((entry >> 8) & 0xF)) - 1))];
    }
    if ((entry & 0xFF) == 0) return corrupt();
    take(static_cast<int>(entry & 0xFF));
    const int dist_extra = static_cast<int>((entry >> 8) & 0xF);
    const std::size_t distance = (entry >> 16) + (buffer & ((1U << dist_extra) - 1));
    take(dist_extra);
    if (beyond()) break;
    if (distance > static_cast<std::size_t>(out - history_)) return corrupt();
    const std::uint8_t* from = out - distance;
    std::uint8_t* stop = out + length;
    if (distance >= 32) {
      do {
        std::memcpy(out, from, 32);
        out += 32;
        from += 32;
      } while (out < stop);
    } else if (distance >= 8) {
      do {
        std::memcpy(out, from, 8);
        out += 8;
        from += 8;
      } while (out < stop);
    } else if (distance == 1) {
      std::memset(out, *from, length);
    } else {
      while (out < stop) *out++ = *from++;
    }
    out = stop;
  }
  leave(state_);
}

std::size_t Inflater::next(const char** data) {
  // Keep the last 32 kB as history at the front and make room for a whole chunk.
  if (out_ > output_.data() + kHistory) {
    const auto shift = (out_ - output_.data()) - static_cast<std::ptrdiff_t>(kHistory);
    std::memmove(output_.data(), out_ - kHistory, kHistory);
    out_ -= shift;
    history_ = std::max(output_.data(), history_ - std::min(shift, history_ - output_.data()));
  }
  given_ = out_;
  std::uint8_t* first = out_;
  const std::uint8_t* limit = output_.data() + kHistory + kChunk;
  while (state_ != State::kEnd && out_ < limit) {
    switch (state_) {
      case State::kHeader:
        given_ = out_;
        header();
        break;
      case State::kBlock: block(); break;
      case State::kStored: stored(); break;
      case State::kCodes: codes(); break;
      case State::kTrailer:
        trailer();
        given_ = out_;
        break;
      case State::kEnd: break;
    }
  }
  crc_ = crc32(crc_, given_, static_cast<std::size_t>(out_ - given_));
  member_bytes_ += static_cast<std::uint32_t>(out_ - given_);
  given_ = out_;
  *data = reinterpret_cast<const char*>(first);
  return static_cast<std::size_t>(out_ - first);
}

}  // namespace sonde::trace
