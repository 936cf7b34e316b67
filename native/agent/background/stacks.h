// From ring records to log records: interns the stacks of a sample, then writes it.
// Background thread only; not async-signal-safe.
#pragma once

#include <cstdint>

#include "core/options.h"
#include "log/interner.h"
#include "log/writer.h"
#include "python/frames.h"
#include "unwind/unwind.h"

namespace sonde {

// The stack that was interned last, with the ids of its nodes. Samples of a thread come one after the other and share
// their outer frames: comparing those in a row is cheaper than a look into the table for each.
template <typename Frame, uint32_t kFrames>
class LastStack {
 public:
  void forget() { count_ = 0; }
  // Is the frame at `depth` from the root the same as last time, given that all below it are?
  bool holds(uint32_t depth, const Frame& frame) const { return depth < count_ && frame_[depth] == frame; }
  uint32_t id(uint32_t depth) const { return id_[depth]; }
  void put(uint32_t depth, const Frame& frame, uint32_t id) {
    if (depth >= kFrames) return;  // deeper ones are looked up each time
    frame_[depth] = frame;
    id_[depth] = id;
    count_ = depth + 1;
  }

 private:
  Frame frame_[kFrames] = {};
  uint32_t id_[kFrames] = {};
  uint32_t count_ = 0;
};

class StackWriter {
 public:
  explicit constexpr StackWriter(log::Writer* log) : log_(log) {}

  void write_sample(uint32_t thread, const uint64_t* record);
  void write_residual(uint32_t thread, uint64_t time_ns, uint64_t weight_ns);

  // Packed native frames, leaf first -> id of the leaf; 0 when empty.
  uint32_t intern_native(const uint64_t* packed, uint32_t count) { return intern(packed, count, &last_native_); }
  uint32_t intern_python(const uint64_t* packed, uint32_t count);
  // Starts a new epoch when the tables are nearly full. Ids of before are void then.
  bool make_room();

  // Called with `context` before ids become void, while they can still be written.
  void on_new_epoch(void (*listener)(void*), void* context) {
    listener_ = listener;
    context_ = context;
  }

  // Ids of before are void, as after make_room; the log's file goes on or is another one.
  void begin_session();
  void begin_account() { weight_total_ns_ = 0; }  // with a new file
  uint64_t weight_total_ns() const { return weight_total_ns_; }
  uint64_t epoch() const { return epoch_; }
  uint64_t memory_bytes() const { return native_.memory_bytes() + python_.memory_bytes(); }

 private:
  log::Writer* log_;
  struct PythonKey {
    uint64_t word, self;
    bool operator==(const PythonKey&) const = default;
  };
  using LastNative = LastStack<uint64_t, kMaxNativeFrames + kMaxKernelFrames>;
  uint32_t intern(const uint64_t* packed, uint32_t count, LastNative* last);
  void forget_last();

  log::NodeTable native_, python_;
  LastNative last_native_, last_owner_;
  LastStack<PythonKey, kMaxPythonFrames> last_python_;
  uint64_t epoch_ = 0;            // never comes again in a process, so that no id of an earlier one is believed
  uint64_t weight_total_ns_ = 0;  // of all samples and residuals written
  void (*listener_)(void*) = nullptr;
  void* context_ = nullptr;
};

}  // namespace sonde
