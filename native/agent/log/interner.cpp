#include "log/interner.h"

#include <sys/mman.h>

#include <utility>

#include "log/loss.h"

namespace sonde::log {

uint64_t NodeTable::hash(const NodeKey& key) {
  uint64_t h = key.first * 0x9e3779b97f4a7c15u;
  h ^= (h >> 29) ^ (key.second * 0xbf58476d1ce4e5b9u) ^ (static_cast<uint64_t>(key.parent) << 32);
  h *= 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}

bool NodeTable::grow() {
  uint32_t wanted = slot_count_ ? slot_count_ * 2 : kFirstSlots;
  void* memory = mmap(nullptr, wanted * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    count_loss(Loss::NoMemory);
    return false;
  }
  Slot* old = std::exchange(slots_, static_cast<Slot*>(memory));
  uint32_t old_count = std::exchange(slot_count_, wanted);
  for (uint32_t i = 0; i < old_count; i++) {
    if (!old[i].id) continue;
    uint64_t at = hash({old[i].parent, old[i].first, old[i].second}) & (slot_count_ - 1);
    while (slots_[at].id) at = (at + 1) & (slot_count_ - 1);
    slots_[at] = old[i];
  }
  if (old) munmap(old, old_count * sizeof(Slot));
  return true;
}

uint32_t NodeTable::find_or_add(const NodeKey& key, bool* fresh) {
  *fresh = false;
  if (count_ * 2 >= slot_count_ && !(count_ < kMaxNodes && grow()) && count_ + 1 >= slot_count_) return 0;
  uint64_t at = hash(key) & (slot_count_ - 1);
  while (slots_[at].id) {
    const Slot& slot = slots_[at];
    if (slot.first == key.first && slot.second == key.second && slot.parent == key.parent) return slot.id;
    at = (at + 1) & (slot_count_ - 1);
  }
  if (count_ >= kMaxNodes) return 0;
  slots_[at] = {key.first, key.second, key.parent, ++count_};
  *fresh = true;
  return count_;
}

void NodeTable::clear() {
  if (slots_) munmap(slots_, slot_count_ * sizeof(Slot));
  slots_ = nullptr;
  slot_count_ = count_ = 0;
}

uint64_t NodeTable::memory_bytes() const { return slot_count_ * sizeof(Slot); }

}  // namespace sonde::log
