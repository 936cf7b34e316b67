// The file of calls: blocks of 16 KiB, mapped and shared, so that what was written survives `kill -9`.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#include <cstdint>
#include <mutex>
#include <string>

namespace sonde {

constexpr size_t kBlockBytes = 16 * 1024;
constexpr size_t kChunkBytes = 1024 * 1024;
constexpr int64_t kMostFileBytes = int64_t{4} << 30;
constexpr uint32_t kThread = 0xfffffff0, kOpened = 0xfffffff1, kClosed = 0xfffffff2, kLost = 0xfffffff3;
constexpr uint32_t kAsync = 1, kBackward = 2, kUserScope = 4;

struct Record {
  uint32_t signature;  // number, or one of the kinds above; 0 ends a block
  uint32_t flags;
  int64_t start_ns, end_ns;
  int64_t sequence, forward_thread;
};
static_assert(sizeof(Record) == 40);

inline int64_t read_clock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

inline int64_t now_ns() { return read_clock(CLOCK_MONOTONIC); }

// Mapped blocks of one file. Not for the callback's fast path: a thread comes here once per 400 calls.
class Blocks {
 public:
  bool open(const std::string& path) {
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    size_ = 0;
    chunk_ = nullptr;
    used_ = kChunkBytes;
    return fd_ >= 0;
  }

  char* take() {
    std::lock_guard<std::mutex> guard(mutex_);
    if (used_ + kBlockBytes > kChunkBytes && !grow()) return nullptr;
    char* block = chunk_ + used_;
    used_ += kBlockBytes;
    return block;
  }

 private:
  bool grow() {
    // Allocated before it is mapped: a full disk ends the log, never the program with SIGBUS.
    if (fd_ < 0 || size_ + int64_t{kChunkBytes} > kMostFileBytes) return false;
    if (posix_fallocate(fd_, size_, kChunkBytes) != 0) return false;
    void* map = mmap(nullptr, kChunkBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, size_);
    if (map == MAP_FAILED) return false;
    size_ += kChunkBytes;
    chunk_ = static_cast<char*>(map);
    used_ = 0;
    return true;
  }

  std::mutex mutex_;
  int fd_ = -1;
  int64_t size_ = 0;
  char* chunk_ = nullptr;
  size_t used_ = kChunkBytes;
};

}  // namespace sonde
