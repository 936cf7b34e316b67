// Counts of durations in buckets of a quarter of a power of two: 19 % wide, 64 of them, 256 bytes.
// Adding is async-signal-safe; one writer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde {

class Histogram {
 public:
  constexpr void add(uint64_t value) { counts_[bucket(value)]++; }
  void add(const Histogram& other) {
    for (size_t i = 0; i < kBuckets; i++) counts_[i] += other.counts_[i];
  }
  void clear() { *this = Histogram{}; }

  // The value that the given share of all lies below, as if each bucket were filled evenly; 0 when empty.
  constexpr uint64_t quantile(double share) const {
    uint64_t total = 0, below = 0;
    for (uint32_t count : counts_) total += count;
    const double wanted = share * static_cast<double>(total);
    for (size_t i = 0; i < kBuckets; i++) {
      const auto inside = static_cast<double>(counts_[i]);
      if (counts_[i] && static_cast<double>(below) + inside >= wanted) {
        const double part = (wanted - static_cast<double>(below)) / inside;
        return lower_edge(i) + static_cast<uint64_t>(part * static_cast<double>(upper_edge(i) - lower_edge(i)));
      }
      below += counts_[i];
    }
    return 0;
  }

 private:
  static constexpr size_t kBuckets = 64;
  static constexpr unsigned kFirstPower = 8;  // below 256 all is one bucket; the last begins at 2^23.75

  static constexpr size_t bucket(uint64_t value) {
    if (value < (1u << kFirstPower)) return 0;
    unsigned power = 63 - static_cast<unsigned>(__builtin_clzll(value));
    size_t index = (power - kFirstPower) * 4 + ((value >> (power - 2)) & 3);
    return index < kBuckets ? index : kBuckets - 1;
  }
  static constexpr uint64_t upper_edge(size_t index) {
    uint64_t base = uint64_t{1} << (kFirstPower + index / 4);
    return base + (index % 4 + 1) * (base / 4);
  }

  static constexpr uint64_t lower_edge(size_t index) { return index ? upper_edge(index - 1) : 0; }

  uint32_t counts_[kBuckets] = {};
};

// As many of every value from 1024 to 20479: the buckets' own edges.
constexpr uint64_t quantile_of_a_ramp(double share) {
  Histogram ramp;
  for (uint64_t value = 1'024; value < 20'480; value += 8) ramp.add(value);
  return ramp.quantile(share);
}
static_assert(quantile_of_a_ramp(0.5) > 10'700 && quantile_of_a_ramp(0.5) < 10'800);
static_assert(quantile_of_a_ramp(0.95) > 19'450 && quantile_of_a_ramp(0.95) < 19'550);
static_assert(Histogram{}.quantile(0.5) == 0);

}  // namespace sonde
