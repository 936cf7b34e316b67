// Counts of durations in buckets of a quarter of a power of two: 19 % wide, 64 of them, 256 bytes.
// Adding is async-signal-safe; one writer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde {

class Histogram {
 public:
  void add(uint64_t value) { counts_[bucket(value)]++; }
  void add(const Histogram& other) {
    for (size_t i = 0; i < kBuckets; i++) counts_[i] += other.counts_[i];
  }
  void clear() { *this = Histogram{}; }

  // The upper edge of the bucket that holds the given share of all values; 0 when empty.
  uint64_t quantile(double share) const {
    uint64_t total = 0, below = 0;
    for (uint32_t count : counts_) total += count;
    if (!total) return 0;
    for (size_t i = 0; i < kBuckets; i++) {
      below += counts_[i];
      if (static_cast<double>(below) >= share * static_cast<double>(total)) return upper_edge(i);
    }
    return upper_edge(kBuckets - 1);
  }

 private:
  static constexpr size_t kBuckets = 64;
  static constexpr unsigned kFirstPower = 8;  // below 256 all is one bucket; the last begins at 2^23.75

  static size_t bucket(uint64_t value) {
    if (value < (1u << kFirstPower)) return 0;
    unsigned power = 63 - static_cast<unsigned>(__builtin_clzll(value));
    size_t index = (power - kFirstPower) * 4 + ((value >> (power - 2)) & 3);
    return index < kBuckets ? index : kBuckets - 1;
  }
  static uint64_t upper_edge(size_t index) {
    uint64_t base = uint64_t{1} << (kFirstPower + index / 4);
    return base + (index % 4 + 1) * (base / 4);
  }

  uint32_t counts_[kBuckets] = {};
};

}  // namespace sonde
