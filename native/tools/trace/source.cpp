#include "trace/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sonde::trace {
namespace {

constexpr std::size_t kBuffer = 512 * 1024;  // stays in the second-level cache
constexpr off_t kAheadBytes = 256 * 1024;  // compressed files smaller than this need no second thread
constexpr std::uint64_t kRatioGrace = 256ULL << 20;  // small files may inflate as they like

}  // namespace

Source::Source(const char* path, std::uint64_t ratio_limit) {
  file_ = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw InputFailure(std::string("cannot open it: ") + std::strerror(errno));
  try {
    struct stat status{};
    if (::fstat(file_, &status) == 0 && S_ISDIR(status.st_mode)) {
      throw InputFailure("it is a folder, not a file");
    }
    start(ratio_limit, status.st_size >= kAheadBytes);
  } catch (...) {
    ahead_.reset();  // its thread reads the file
    ::close(file_);  // a constructor that throws runs no destructor
    throw;
  }
}

Source::Source(const char* data, std::size_t size, std::uint64_t ratio_limit, bool inflate_ahead)
    : memory_(data), memory_left_(size) {
  start(ratio_limit, inflate_ahead);
}

Source::~Source() {
  ahead_.reset();  // its thread reads the file
  if (file_ >= 0) ::close(file_);
}

void Source::start(std::uint64_t ratio_limit, bool inflate_ahead) {
  ratio_limit_ = ratio_limit;
  char head[4];
  std::size_t have = 0;
  while (have < sizeof head) {
    const std::size_t got = read_raw(head + have, sizeof head - have);
    if (got == 0) break;
    have += got;
  }
  head_.assign(head, head + have);
  if (have >= 2 && head[0] == '\x1f' && head[1] == '\x8b') {
    inflater_ = std::make_unique<Inflater>([this](char* out, std::size_t size) { return read_raw(out, size); });
    if (inflate_ahead) ahead_ = std::make_unique<InflateAhead>(inflater_.get());
  }
  // Bytes in memory get a buffer of their size: small inputs stay cheap.
  const std::size_t size = file_ < 0 && !inflater_ ? std::clamp<std::size_t>(memory_left_, 4096, kBuffer) : kBuffer;
  buffer_.resize(size + kPadding);
  begin_ = end_ = buffer_.data();
  advance(begin_, kBuffer);
}

std::size_t Source::read_raw(char* out, std::size_t size) {
  if (head_at_ < head_.size()) {
    const std::size_t n = std::min(size, head_.size() - head_at_);
    std::memcpy(out, head_.data() + head_at_, n);
    head_at_ += n;
    return n;
  }
  if (file_ < 0) {
    const std::size_t n = std::min(size, memory_left_);
    if (n != 0) std::memcpy(out, memory_, n);
    memory_ += n;
    memory_left_ -= n;
    file_bytes_ += n;
    return n;
  }
  for (;;) {
    const ssize_t got = ::read(file_, out, size);
    if (got >= 0) {
      file_bytes_ += static_cast<std::uint64_t>(got);
      return static_cast<std::size_t>(got);
    }
    if (errno != EINTR) throw InputFailure(std::string("cannot read it: ") + std::strerror(errno));
  }
}

std::size_t Source::read_plain(char* out, std::size_t size) {
  if (inflater_ == nullptr) return read_raw(out, size);
  if (chunk_left_ == 0) {
    if (ahead_ != nullptr) {
      chunk_left_ = ahead_->next(&chunk_, &consumed_);
    } else {
      chunk_left_ = inflater_->next(&chunk_);
      consumed_ = inflater_->consumed();
    }
  }
  const std::size_t n = std::min(size, chunk_left_);
  if (n != 0) std::memcpy(out, chunk_, n);
  chunk_ += n;
  chunk_left_ -= n;
  if (plain_bytes_ + n > kRatioGrace && plain_bytes_ > ratio_limit_ * (consumed_ + 1)) {
    throw InputFailure("it inflates to more than " + std::to_string(ratio_limit_) +
                       " times its size (" + std::to_string(plain_bytes_ >> 20) + " MB so far)");
  }
  return n;
}

bool Source::advance(const char* keep, std::size_t limit) {
  const auto kept = static_cast<std::size_t>(end_ - keep);
  dropped_ += static_cast<std::uint64_t>(keep - buffer_.data());
  std::size_t capacity = buffer_.size() - kPadding;
  if (kept * 2 > capacity) {
    if (kept >= limit) {
      throw InputFailure("one value is longer than " + std::to_string(limit >> 20) + " MB, at byte " +
                         std::to_string(dropped_));
    }
    capacity = std::min(limit, capacity * 2);
    std::vector<char> bigger(capacity + kPadding);
    std::memcpy(bigger.data(), keep, kept);
    buffer_.swap(bigger);
  } else if (kept != 0) {
    std::memmove(buffer_.data(), keep, kept);
  }
  std::size_t have = kept;
  while (have < capacity && !ended_) {
    const std::size_t got = read_plain(buffer_.data() + have, capacity - have);
    if (got == 0) {
      ended_ = true;
      break;
    }
    have += got;
    plain_bytes_ += got;
  }
  begin_ = buffer_.data();
  end_ = begin_ + have;
  std::memset(buffer_.data() + have, 0, kPadding);
  return have > kept;
}

Inflater::Failure Source::inflate_failure() const {
  return inflater_ == nullptr ? Inflater::Failure::kNone : inflater_->failure();
}

}  // namespace sonde::trace
