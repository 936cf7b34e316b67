// The last resort: looking up the stack for a return address from which the tables lead home.
// Old return addresses lie about in every stack, so a candidate must follow a call of the right kind, have
// unwind information, and reach the root through the anchor. What it finds is flagged.
#include <initializer_list>

#include "unwind/return_address.h"
#include "unwind/walk.h"

namespace sonde {
namespace {

constexpr uint64_t kScanBytes = 64u << 10;
constexpr unsigned kMostCandidates = 12;

// Direct calls reach their function from nearby in the same library; farther is a leftover.
constexpr uint64_t kFarthestTarget = 64u << 10;

// Order in which compilers and assemblers push callee-saved registers, first pushed first.
constexpr uint8_t kPushOrder[] = {6, 3, 12, 13, 14, 15};  // rbp rbx r12 r13 r14 r15

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

void Walk::try_scan() {
  if (doubt_.count == 0) return;
  const Registers start = doubt_.registers;
  const uint64_t sp = start.sp();
  uint64_t limit = sp + kScanBytes;
  if (limit > window_.high) limit = window_.high;
  // Beyond the anchor there is nothing to find: its frame must be passed.
  if (anchor_.address > sp && anchor_.address < limit) limit = anchor_.address;
  unsigned candidates = 0;
  for (uint64_t slot = (sp + 7) & ~uint64_t{7}; slot + 8 <= limit && candidates < kMostCandidates; slot += 8) {
    uint32_t fault = 0;
    const auto address = guarded_load<uint64_t>(slot, &fault);
    if (fault) return;
    if (!is_user_address(address, 8) || !may_call(address, start.pc(), doubt_.generated)) continue;
    if (!has_tables(rule_for(address - 1))) continue;
    ++candidates;
    for (const bool pushed : {false, true}) {
      Registers caller = start;
      caller.set(Registers::kPc, address);
      caller.set(Registers::kSp, slot + 8);
      if (pushed) {
        uint64_t at = slot;
        for (const uint8_t reg : kPushOrder) {
          at -= 8;
          if (at < sp) break;
          caller.set(reg, guarded_load<uint64_t>(at, &fault));
        }
      }
      if (!leads_home(caller)) continue;
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
      return;
    }
  }
}

}  // namespace sonde
