#include "log/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "common/clock.h"
#include "common/system.h"
#include "log/crc32c.h"

namespace sonde::log {
namespace {
constexpr size_t kHead = 16;                 // of a chunk
constexpr size_t kRecordHead = 1 + 5;        // type and the widest length
constexpr size_t kCapacity = 1u << 20;       // one record may be this large; pages are touched as needed
constexpr size_t kFlushAt = 60u << 10;

size_t encode(uint8_t* at, uint64_t value) {
  size_t n = 0;
  while (value >= 0x80) {
    at[n++] = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  at[n++] = static_cast<uint8_t>(value);
  return n;
}

uint64_t sum(const Lost& lost) { return lost.chunks + lost.samples + lost.cpu_ns + lost.waits + lost.others; }
}  // namespace

bool Writer::open(const char* path) {
  if (!buffer_) {
    void* memory = mmap(nullptr, kCapacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    buffer_ = static_cast<uint8_t*>(memory);
  }
  if (std::strlen(path) >= sizeof path_) return false;
  std::strcpy(path_, path);
  used_ = 0;
  open_ = create(path);
  return open_;
}

bool Writer::create(const char* path) {
  // Not O_APPEND: the preamble is written in place. Nobody else writes to the file.
  fd_ = move_high(::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat info = {};
  if (fd_ < 0 || fstat(fd_, &info) != 0) return false;
  device_ = info.st_dev;
  inode_ = info.st_ino;
  chunk_ = 0;
  end_ = sizeof(Preamble);
  broken_ = false;
  pending_ = lost_ = Lost{};
  saved_ = 0;
  if (write_preamble()) {
    whole_until_ns_ = mono_ns();
    return true;
  }
  unlink(path);
  ::close(fd_);
  fd_ = -1;
  return false;
}

bool Writer::turn(uint32_t part, uint32_t kept) {
  if (!flush() || !still_ours()) return false;
  char name[sizeof path_ + 16], next[sizeof path_ + 16];
  if (part > kept) {  // first, so that there is room on a full disk
    snprintf(name, sizeof name, "%s.%u", path_, part - kept);
    unlink(name);
  }
  snprintf(name, sizeof name, "%s.%u", path_, part);
  snprintf(next, sizeof next, "%s.next", path_);
  unlink(next);
  const Writer before = *this;
  // A reader that looks between the two renames finds no file of the usual name, and looks again.
  if (!create(next) || rename(path_, name) != 0) {
    if (fd_ >= 0) ::close(fd_), unlink(next);
    *this = before;
    return false;
  }
  rename(next, path_);
  ::close(before.fd_);
  return true;
}

void Writer::close() {
  flush();
  abandon();
}

void Writer::abandon() {
  if (fd_ >= 0 && still_ours()) ::close(fd_);
  fd_ = -1;
  open_ = false;
  used_ = 0;
  chunk_ = 0;
  bytes_written_ = refused_ = 0;
}

bool Writer::still_ours() {
  struct stat info = {};
  return fstat(fd_, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

bool Writer::start_chunk() {
  used_ = kHead;
  last_time_ns_ = mono_ns();
  uint8_t base[24];
  size_t n = encode(base, last_time_ns_);
  n += encode(base + n, node_epoch_);
  put(static_cast<uint8_t>(Record::Base));
  put(static_cast<uint8_t>(n));
  std::memcpy(buffer_ + used_, base, n);
  used_ += n;
  return true;
}

void Writer::put(uint8_t byte) {
  if (used_ < kCapacity) buffer_[used_++] = byte;
  else overflow_ = true;
}

Writer& Writer::begin(Record type) {
  if (used_ == 0) start_chunk();
  record_type_ = type;
  record_start_ = used_ + kRecordHead;
  used_ = record_start_;
  overflow_ = false;
  return *this;
}

Writer& Writer::number(uint64_t value) {
  if (used_ + 10 > kCapacity) {
    overflow_ = true;
    return *this;
  }
  used_ += encode(buffer_ + used_, value);
  return *this;
}

Writer& Writer::signed_number(int64_t value) {
  return number((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
}

Writer& Writer::bytes(const void* data, size_t size) {
  number(size);
  if (used_ + size > kCapacity) {
    overflow_ = true;
    return *this;
  }
  std::memcpy(buffer_ + used_, data, size);
  used_ += size;
  return *this;
}

Writer& Writer::text(const char* text) { return bytes(text, std::strlen(text)); }

Writer& Writer::time_delta(uint64_t time_ns) {
  signed_number(static_cast<int64_t>(time_ns - last_time_ns_));
  last_time_ns_ = time_ns;
  return *this;
}

void Writer::end() {
  uint8_t* head = buffer_ + record_start_ - kRecordHead;
  if (broken_) {
    used_ = 0;
    return;
  }
  if (overflow_) {
    used_ = record_start_ - kRecordHead;
    refused_++;
    return;
  }
  size_t size = used_ - record_start_;
  uint8_t length[5];
  size_t n = encode(length, size);
  head[0] = static_cast<uint8_t>(record_type_);
  std::memcpy(head + 1, length, n);
  std::memmove(head + 1 + n, buffer_ + record_start_, size);
  used_ = static_cast<size_t>(head - buffer_) + 1 + n + size;
  if (used_ >= kFlushAt) flush();
}

bool Writer::write_at(uint64_t at, const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  size_t done = 0;
  while (fd_ >= 0 && done < size) {
    ssize_t n = pwrite(fd_, bytes + done, size - done, static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return fd_ >= 0;
}

bool Writer::write_preamble() {
  Preamble preamble = {kPreambleMagic, sizeof(Preamble), lost_, {}, 0};
  preamble.checksum = crc32c(reinterpret_cast<const uint8_t*>(&preamble), offsetof(Preamble, checksum));
  if (!write_at(0, &preamble, sizeof preamble)) return false;
  saved_ = sum(lost_);
  return true;
}

bool Writer::flush() {
  if (!open_) return false;
  bool whole = !broken_;
  // A program that closes "all" descriptors may have given our number to a file of its own.
  if ((used_ || sum(lost_) != saved_) && !still_ours()) {
    fd_ = move_high(::open(path_, O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  }
  if (used_ && whole) {
    uint32_t size = static_cast<uint32_t>(used_ - kHead);
    uint32_t head[4] = {kMagic, size, crc32c(buffer_ + kHead, size), chunk_};
    std::memcpy(buffer_, head, kHead);
    whole = write_at(end_, buffer_, used_);
    if (whole) {
      chunk_++;
      end_ += used_;
      bytes_written_ += used_;
      whole_until_ns_ = mono_ns();
    } else {  // keep the file readable: take a half chunk back
      broken_ = true;
      lost_.chunks++;
      if (fd_ >= 0 && ftruncate(fd_, static_cast<off_t>(end_)) != 0) lost_.chunks++;
    }
  }
  if (!whole) {
    lost_.samples += pending_.samples;
    lost_.cpu_ns += pending_.cpu_ns;
    lost_.waits += pending_.waits;
  }
  pending_ = Lost{};
  used_ = 0;
  if (sum(lost_) != saved_) write_preamble();  // its bytes are there, also on a full disk
  return whole;
}

void Writer::set_node_epoch(uint64_t epoch) {
  flush();
  node_epoch_ = epoch;
}

}  // namespace sonde::log
