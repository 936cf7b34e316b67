// From ring records to log records: interns the stacks of a sample, then writes it.
// Background thread only; not async-signal-safe.
#pragma once

#include <cstdint>

#include "log/interner.h"
#include "log/writer.h"
#include "python/frames.h"
#include "unwind/unwind.h"

namespace sonde {

class StackWriter {
 public:
  explicit constexpr StackWriter(log::Writer* log) : log_(log) {}

  void write_sample(uint32_t thread, const uint64_t* record);
  void write_residual(uint32_t thread, uint64_t time_ns, uint64_t weight_ns);

  // Packed native frames, leaf first -> id of the leaf; 0 when empty.
  uint32_t intern_native(const uint64_t* packed, uint32_t count);
  uint32_t intern_python(const uint64_t* packed, uint32_t count);
  // Starts a new epoch when the tables are nearly full. Ids of before are void then.
  bool make_room();

  // Called with `context` before ids become void, while they can still be written.
  void on_new_epoch(void (*listener)(void*), void* context) {
    listener_ = listener;
    context_ = context;
  }

  void reset();
  uint64_t weight_total_ns() const { return weight_total_ns_; }
  uint64_t epoch() const { return epoch_; }
  uint64_t memory_bytes() const { return native_.memory_bytes() + python_.memory_bytes(); }

 private:
  log::Writer* log_;
  log::NodeTable native_, python_;
  uint64_t epoch_ = 0;
  uint64_t weight_total_ns_ = 0;  // of all samples and residuals written
  void (*listener_)(void*) = nullptr;
  void* context_ = nullptr;
};

}  // namespace sonde
