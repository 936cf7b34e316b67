#include "background/stacks.h"

#include <cstring>

#include "core/options.h"
#include "log/loss.h"
#include "sample/record.h"

namespace sonde {

bool StackWriter::make_room() {
  if (!native_.nearly_full() && !python_.nearly_full()) return false;
  if (listener_) listener_(context_);
  native_.clear();
  python_.clear();
  forget_last();
  log_->set_node_epoch(++epoch_);
  count_loss(Loss::NodeEpochs);
  return true;
}

void StackWriter::forget_last() {
  last_native_.forget();
  last_owner_.forget();
  last_python_.forget();
}

void StackWriter::begin_session() {
  native_.clear();
  python_.clear();
  forget_last();
  log_->set_node_epoch(++epoch_);
}

uint32_t StackWriter::intern(const uint64_t* packed, uint32_t count, LastNative* last) {
  uint32_t parent = 0;
  bool same = true;
  for (uint32_t i = count; i-- > 0;) {  // from the root
    const uint32_t depth = count - 1 - i;
    same = same && last->holds(depth, packed[i]);
    if (same) {
      parent = last->id(depth);
      continue;
    }
    bool fresh = false;
    uint32_t id = native_.find_or_add({parent, packed[i], 0}, &fresh);
    if (!id) return parent;
    if (fresh) {
      log_->begin(log::Record::Node).number(id).number(parent).number(packed_pc(packed[i])).number(packed[i] >> 56);
      log_->end();
    }
    last->put(depth, packed[i], id);
    parent = id;
  }
  return parent;
}

uint32_t StackWriter::intern_python(const uint64_t* packed, uint32_t count) {
  // Frames take one or two words and lie leaf first: find their starts, then go from the root.
  uint16_t starts[kMaxPythonFrames];
  uint32_t at = 0;
  if (count > kMaxPythonFrames) count = kMaxPythonFrames;
  for (uint32_t i = 0; i < count; i++) {
    starts[i] = static_cast<uint16_t>(at);
    at += packed[at] & kPythonSelf ? 2 : 1;
  }
  uint32_t parent = 0;
  bool same = true;
  for (uint32_t i = count; i-- > 0;) {
    const uint32_t depth = count - 1 - i;
    uint64_t word = packed[starts[i]];
    uint64_t self = word & kPythonSelf ? packed[starts[i] + 1] : 0;
    same = same && last_python_.holds(depth, {word, self});
    if (same) {
      parent = last_python_.id(depth);
      continue;
    }
    bool fresh = false;
    uint32_t id = python_.find_or_add({parent, word, self}, &fresh);
    if (!id) return parent;
    if (fresh) {
      python_want_code(static_cast<uint32_t>(word));
      int64_t instruction = static_cast<int64_t>((word >> 32) & 0x3fffffff) - 1;
      log_->begin(log::Record::PythonNode).number(id).number(parent).number(word & 0xffffffff);
      log_->signed_number(instruction).number(word & kPythonEntry ? 1 : 0).number(self);
      log_->end();
    }
    last_python_.put(depth, {word, self}, id);
    parent = id;
  }
  return parent;
}

void StackWriter::write_sample(uint32_t thread, const uint64_t* record) {
  make_room();
  SampleHead head;
  std::memcpy(&head, record, sizeof head);
  const uint64_t* at = record + kHeadWords;
  uint32_t native = intern_native(at, head.native);
  at += head.native;
  uint32_t owner = intern(at, head.owner_frames, &last_owner_);
  at += head.owner_frames;
  uint32_t python = intern_python(at, head.python);
  weight_total_ns_ += head.weight_ns;
  log_->begin(log::Record::Sample).number(thread).time_delta(head.time_ns).number(native).number(python);
  log_->number(head.owner + 1u).number(owner).number(head.weight_ns).number(head.state).number(0);
  log_->number(head.walk_end | (static_cast<uint64_t>(head.owner_walk_end) << 4)).number(head.anchor);
  log_->number(head.handler_ns >> 8);
  log_->stands_for_sample(head.weight_ns);
  log_->end();
}

void StackWriter::write_residual(uint32_t thread, uint64_t time_ns, uint64_t weight_ns) {
  weight_total_ns_ += weight_ns;
  log_->begin(log::Record::Sample).number(thread).time_delta(time_ns).number(0).number(0).number(0).number(0);
  log_->number(weight_ns).number(0).number(0).number(log::kWalkResidual).number(0);
  log_->stands_for_sample(weight_ns);
  log_->end();
}

}  // namespace sonde
