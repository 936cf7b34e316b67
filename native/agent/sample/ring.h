// A ring of words between one thread's handler (producer) and the background thread (consumer).
// Lock-free; the producer side is async-signal-safe. Records are contiguous: one that does not
// fit before the end leaves a skip mark there.
#pragma once

#include <atomic>
#include <cstdint>

namespace sonde {

class Ring {
 public:
  // `words` is a power of two; memory belongs to the caller and starts zeroed or not.
  void attach(uint64_t* memory, uint32_t words) {
    memory_ = memory;
    words_ = words;
    reset();
  }
  void reset() {
    head_.store(0, std::memory_order_relaxed);
    tail_.store(0, std::memory_order_relaxed);
  }

  // Producer: room for `count` words, or null. Nothing is visible before commit.
  uint64_t* reserve(uint32_t count) {
    uint64_t head = head_.load(std::memory_order_relaxed);
    uint64_t used = head - tail_.load(std::memory_order_acquire);
    uint32_t at = static_cast<uint32_t>(head & (words_ - 1));
    uint32_t to_end = words_ - at;
    uint32_t skipped = count > to_end ? to_end : 0;
    if (used + skipped + count > words_) return nullptr;
    if (skipped) {
      memory_[at] = 0;  // skip mark
      at = 0;
    }
    reserved_ = head + skipped + count;
    return memory_ + at;
  }
  void commit() { head_.store(reserved_, std::memory_order_release); }
  bool half_full() const {
    return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_relaxed) > words_ / 2;
  }

  // Consumer: the next record (its first word holds its length in words in the low half), or null.
  const uint64_t* peek() {
    uint64_t head = head_.load(std::memory_order_acquire);
    uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == head) return nullptr;
    uint32_t at = static_cast<uint32_t>(tail & (words_ - 1));
    if (memory_[at] == 0) {
      tail += words_ - at;
      tail_.store(tail, std::memory_order_release);
      if (tail == head) return nullptr;
      at = 0;
    }
    return memory_ + at;
  }
  void pop(uint32_t count) { tail_.store(tail_.load(std::memory_order_relaxed) + count, std::memory_order_release); }

 private:
  uint64_t* memory_ = nullptr;
  uint32_t words_ = 0;
  uint64_t reserved_ = 0;
  std::atomic<uint64_t> head_{0}, tail_{0};
};

}  // namespace sonde
