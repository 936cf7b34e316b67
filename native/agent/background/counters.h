// Readings of the process over time, and the losses counted so far.
// Background thread only; not async-signal-safe.
#pragma once

#include <cstdint>

#include "log/loss.h"
#include "log/writer.h"

namespace sonde {

// One Readings record; values are written as differences, so it costs some 20 bytes.
class CounterWriter {
 public:
  void write(log::Writer& log, uint64_t now_ns);
  void reset();  // at the start of a log

 private:
  static constexpr size_t kReadings = 7;
  uint64_t written_[kReadings] = {};
};

// A count is told once it is in the file for good, not when it was handed to the writer.
class LossWriter {
 public:
  void write(log::Writer& log);     // Loss records for counts that grew, as a chunk of their own
  uint64_t untold() const;          // counts that no Loss record in the file tells
  void forget_earlier();            // in the child of a fork: what the parent lost is not ours

 private:
  uint64_t told_[static_cast<size_t>(Loss::kCount)] = {};
};

}  // namespace sonde
