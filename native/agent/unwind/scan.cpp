// The last resort: looking up the stack for a return address from which the tables lead home.
// Old return addresses lie about in every stack, so a candidate must follow a call of the right kind, have
// unwind information, and reach the root through the anchor. What it finds is flagged.
#include <initializer_list>

#include "arch/arch.h"
#include "unwind/walk.h"

namespace sonde {
namespace {

constexpr uint64_t kScanBytes = 64u << 10;
constexpr unsigned kMostCandidates = 12;
constexpr uint64_t kSavedPointerBytes = 512;
constexpr unsigned kMostSavedPointers = 4;
constexpr uint64_t kAnchorFrameBytes = 4096;

// Direct calls reach their function from nearby in the same library; farther is a leftover.
constexpr uint64_t kFarthestTarget = 64u << 10;

// Asked of every word before its memory is touched: a stack holds pointers to anything, and reading a device's
// registers or a page of a slow file is not ours to do. Only code of libraries can pass has_tables anyway.
bool in_library(uint64_t address) {
  uint64_t header, low, high;
  return is_user_address(address, 8) && find_library(address, &header, &low, &high);
}

bool may_call(uint64_t address, uint64_t callee, bool generated) {
  uint64_t target = 0;
  switch (call_before(address, &target)) {
    case CallBefore::None: return false;
    case CallBefore::Indirect: return true;
    // Generated code is only ever called through a pointer.
    case CallBefore::Direct: return !generated && target <= callee && callee - target <= kFarthestTarget;
  }
  return false;
}

bool has_tables(const Rule& rule) {
  return rule.kind == Rule::Kind::Usual || rule.kind == Rule::Kind::Deref;
}

}  // namespace

bool Walk::leads_home(const Registers& candidate) {
  Walk trial(stack_, anchor_, cache_, nullptr, 1);
  trial.registers_ = candidate;
  trial.exact_ = false;
  trial.result_.anchor_checked = result_.anchor_checked;
  trial.enter_stack();
  trial.result_.end = trial.climb();
  return trial.arrived();
}

// The walk goes on from a caller that was found.
void Walk::go_on(const Registers& caller) {
  result_.count = doubt_.count;
  if (!dry()) {
    NativeFrame& frame = out_[result_.count - 1];
    frame.flags = static_cast<uint8_t>((frame.flags & ~kFrameDecoded) | kFrameScanned);
  }
  registers_ = caller;
  exact_ = interrupted_ = false;
  result_.anchor_hit = false;
  enter_stack();
  result_.end = climb();
}

bool Walk::scan_from(const Registers& start, uint64_t sp) {
  uint64_t limit = sp + kScanBytes;
  const bool at_home = sp >= stack_.low && sp < stack_.high;
  const uint64_t high = at_home ? stack_.high : window_.high;
  if (limit > high) limit = high;
  // Beyond the anchor there is nothing to find: its frame must be passed.
  if (anchor_.address > sp && anchor_.address < limit) limit = anchor_.address;
  unsigned candidates = 0;
  for (uint64_t slot = (sp + 7) & ~uint64_t{7}; slot + 8 <= limit && candidates < kMostCandidates; slot += 8) {
    uint32_t fault = 0;
    const auto address = guarded_load<uint64_t>(slot, &fault);
    if (fault) return false;
    if (!in_library(address - 1) || !may_call(address, start.pc(), doubt_.generated)) continue;
    if (!has_tables(rule_for(address - 1))) continue;
    ++candidates;
    for (const bool pushed : {false, true}) {
      Registers caller = start;
      caller.set(Registers::kPc, address);
      caller.set(Registers::kSp, slot + 8);
      if (pushed) {
        uint64_t at = slot;
        for (const uint8_t reg : Registers::kPushOrder) {
          at -= 8;
          if (at < sp) break;
          caller.set(reg, guarded_load<uint64_t>(at, &fault));
        }
      }
      if (!leads_home(caller)) continue;
      go_on(caller);
      return true;
    }
  }
  return false;
}

// The stack pointer was put aside to be found again: in the frame pointer, or in the memory that it points to now.
bool Walk::scan_from_saved_pointers(const Registers& start) {
  const uint64_t frame_pointer = start.value[Registers::kFramePointer];
  if (window_.leads_home(frame_pointer) && scan_from(start, frame_pointer)) return true;
  const uint64_t low = start.sp() & ~uint64_t{7};
  unsigned pointers = 0;
  for (uint64_t slot = low; slot < low + kSavedPointerBytes && pointers < kMostSavedPointers; slot += 8) {
    uint32_t fault = 0;
    const auto saved = guarded_load<uint64_t>(slot, &fault);
    if (fault) return false;
    if (!window_.leads_home(saved)) continue;
    ++pointers;
    if (scan_from(start, saved)) return true;
  }
  return false;
}

// The frame around the anchor is there, and its return address from whatever it called lies right below it. What is
// between there and the leaf stays unknown: the walk counts as one off its stack, but it has its root.
void Walk::go_on_at_anchor() {
  const uint64_t anchor = anchor_.address & ~uint64_t{7};
  for (uint64_t slot = anchor; slot > anchor - kAnchorFrameBytes && window_.leads_home(slot); slot -= 8) {
    uint32_t fault = 0;
    const auto address = guarded_load<uint64_t>(slot, &fault);
    if (fault) return;
    uint64_t target;
    if (!is_anchor_code(address - 1) || call_before(address, &target) == CallBefore::None) continue;
    Registers caller;
    caller.set(Registers::kPc, address);
    caller.set(Registers::kSp, slot + 8);
    if (!leads_home(caller)) continue;
    go_on(caller);
    result_.end = WalkEnd::OffStack;
    return;
  }
}

void Walk::try_scan() {
  if (doubt_.count == 0) return;
  const Registers start = doubt_.registers;
  if (start.sp() >= stack_.low && start.sp() < stack_.high) {
    scan_from(start, start.sp());
    return;
  }
  window_ = {start.sp(), start.sp() + kScanBytes, stack_.low, stack_.high};
  if (scan_from(start, start.sp()) || scan_from_saved_pointers(start) || dry()) return;
  if (anchor_.address) go_on_at_anchor();
}

}  // namespace sonde
