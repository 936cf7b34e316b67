// A stack becomes one integer: prefix trees of native and Python frames, by open addressing in
// mapped memory. Used by the background thread alone; not async-signal-safe.
// Invariant: an id is written as a Node record before it is returned, and means the same until the
// epoch changes. Memory is bounded: a full table asks for a new epoch, where ids start again at 1.
#pragma once

#include <cstdint>

#include "log/writer.h"

namespace sonde::log {

// Key of a node: its parent and what the frame is (two words).
struct NodeKey {
  uint32_t parent;
  uint64_t first;
  uint64_t second;
};

class NodeTable {
 public:
  // Returns the id and sets *fresh when it is new; 0 when the table is full.
  uint32_t find_or_add(const NodeKey& key, bool* fresh);
  void clear();  // keeps memory at a small size
  bool nearly_full() const { return count_ >= kMaxNodes - kReserve; }
  uint64_t memory_bytes() const;

 private:
  struct Slot {
    uint64_t first, second;
    uint32_t parent, id;  // id 0: empty
  };
  static constexpr uint32_t kMaxNodes = 1u << 18;   // 24 B * 2 per node: 12 MiB
  static constexpr uint32_t kReserve = 1u << 12;    // the deepest stack must still fit
  static constexpr uint32_t kFirstSlots = 1u << 12;
  bool grow();
  static uint64_t hash(const NodeKey& key);

  Slot* slots_ = nullptr;
  uint32_t slot_count_ = 0;
  uint32_t count_ = 0;
};

}  // namespace sonde::log
