// The walk from a thread's registers to its root, frame by frame.
//
// A step comes from the unwind tables; where there are none (generated code, hand-written assembly) from
// reading the code ahead; where that fails from a scan of the stack. A walk with a step that is not from the
// tables counts only when it reaches the root through the anchor; if it does not, the scan is tried from there.
#include "unwind/walk.h"

#include "jit/regions.h"
#include "python/frames.h"
#include "unwind/read_ahead.h"
#include "arch/arch.h"
#include "unwind/shared_rules.h"

namespace sonde {
namespace {

// How much of an unknown stack (coroutine, alternate signal stack) may be read.
constexpr uint64_t kForeignStackBytes = 8u << 20;
constexpr uint64_t kPrefetchBytes = 768;
constexpr unsigned kPrefetchSteps = 6;

}  // namespace

WalkResult Walk::run(const Registers& from, bool exact) {
  registers_ = from;
  exact_ = exact;
  result_.anchor_checked = anchor_.address != 0;
  enter_stack();
  open_path(exact);
  result_.end = climb();
  if (!arrived()) try_scan();
  close_path();
  if (result_.foreign_stack && result_.end != WalkEnd::Root) result_.end = WalkEnd::OffStack;
  return result_;
}

void Walk::enter_stack() {
  const uint64_t sp = registers_.sp();
  // Compilers leave rules that point into the red zone in epilogues.
  const uint64_t low = sp > kRedZoneBytes ? sp - kRedZoneBytes : 0;
  if (sp >= stack_.low && sp < stack_.high) {
    window_ = {low > stack_.low ? low : stack_.low, stack_.high};
  } else {
    window_ = {low, sp + kForeignStackBytes, stack_.low, stack_.high};
    result_.foreign_stack = true;
  }
}

bool Walk::passes_anchor(uint64_t pc, uint64_t sp, uint64_t cfa) const {
  return anchor_.address >= sp && anchor_.address < cfa && is_anchor_code(pc);
}

bool Walk::is_anchor_code(uint64_t pc) const {
  return anchor_.code_high ? pc >= anchor_.code_low && pc < anchor_.code_high : python_is_eval(pc);
}

bool Walk::arrived() const {
  return result_.end == WalkEnd::Root && (!result_.anchor_checked || result_.anchor_hit);
}

void Walk::open_path(bool exact) {
  if (cache_ == nullptr || dry()) return;
  paths_ = exact ? &cache_->own : &cache_->owners;
  last_ = &paths_->path[paths_->newest];
  fresh_ = &paths_->path[1 - paths_->newest];
  fresh_->count = 0;
}

void Walk::close_path() {
  if (paths_) paths_->newest = 1 - paths_->newest;
}

Rule Walk::rule_for(uint64_t pc) {
  const uint64_t key = rule_key(pc);
  if (paths_ == nullptr) return shared_rule(pc, key);
  if (hint_ >= last_->count || last_->step[hint_].key != key) hint_ = last_->find(key, 0);
  if (hint_ < last_->count) {
    const Rule& rule = last_->step[hint_++].rule;
    fresh_->append(key, rule);
    return rule;
  }
  const Rule rule = shared_rule(pc, key);
  if (rule.kind != Rule::Kind::NoLibrary) fresh_->append(key, rule);
  return rule;
}

Rule Walk::shared_rule(uint64_t pc, uint64_t key) {
  Rule rule;
  if (find_shared_rule(key, &rule)) return rule;
  rule = find_rule(pc);
  if (rule.kind != Rule::Kind::NoLibrary) share_rule(key, rule);  // may become one at any moment
  return rule;
}

// A caller found without tables must at least be code that made a call.
bool Walk::is_plausible_caller(uint64_t pc) {
  uint64_t target;
  return call_before(pc, &target) != CallBefore::None;
}

Step Walk::step_without_tables(bool generated, NativeFrame* frame) {
  Step failed;
  failed.why = generated ? WalkEnd::NoCaller : WalkEnd::NoCfi;
  if (generated) {
    frame->flags |= kFrameJit;
    if (!dry()) note_generated_code(registers_.pc());
  }
  Rule rule;
  const Registers before = registers_;
  if (!rule_by_reading_ahead(registers_.pc(), cache_ ? &cache_->runs : nullptr, &rule)) return failed;
  const Step step = apply_rule(rule, window_, &registers_);
  if (step.outcome != Step::Outcome::Moved || !is_plausible_caller(registers_.pc())) {
    registers_ = before;
    return failed;
  }
  frame->flags |= kFrameDecoded;
  return step;
}

WalkEnd Walk::climb() {
  for (;;) {
    const uint64_t pc = registers_.pc(), sp = registers_.sp();
    if (pc == 0) return WalkEnd::Root;
    if (result_.count == capacity_) return WalkEnd::Truncated;
    if (++steps_ > kMostSteps) return WalkEnd::Truncated;
    // A return address may be the first byte of the next function (the call never returns).
    const uint64_t lookup = exact_ ? pc : pc - 1;
    NativeFrame& frame = dry() ? scratch_ : out_[result_.count++];
    frame = {pc, static_cast<uint8_t>(interrupted_ ? kFrameSignal : 0)};
    if (python_is_eval(lookup)) frame.flags |= kFrameEval;
    const Rule rule = rule_for(lookup);
    Step step;
    switch (rule.kind) {
      case Rule::Kind::Root: return WalkEnd::Root;
      case Rule::Kind::Usual:
      case Rule::Kind::Deref: step = apply_rule(rule, window_, &registers_); break;
      case Rule::Kind::Complex: step = apply_row(lookup, window_, &registers_); break;
      case Rule::Kind::NoEntry:
      case Rule::Kind::NoLibrary:
        if (doubt_.count == 0) doubt_ = {registers_, result_.count, rule.kind == Rule::Kind::NoLibrary};
        step = step_without_tables(rule.kind == Rule::Kind::NoLibrary, &frame);
        break;
      case Rule::Kind::Damaged:
      case Rule::Kind::Unknown: return WalkEnd::BadRule;
    }
    if (step.outcome == Step::Outcome::Failed) {
      // A register that the tables need and nobody knows (a thread read from outside): also a doubt.
      if (doubt_.count == 0) doubt_ = {registers_, result_.count, false};  // a failed step moved nothing
      return step.why;
    }
    // Of a stack that was left alone for long, and of the last walk's rules, each line is a miss; ask in time.
    __builtin_prefetch(reinterpret_cast<const void*>(step.cfa + kPrefetchBytes));
    if (last_) __builtin_prefetch(&last_->step[hint_ + kPrefetchSteps < RulePath::kSteps ? hint_ + kPrefetchSteps : 0]);
    if (passes_anchor(lookup, sp, step.cfa)) {
      result_.anchor_hit = true;
      if (dry()) return WalkEnd::Root;  // from here on the tables lead
    }
    if (step.interrupted_caller || window_.leads_home(step.cfa - 8)) {
      enter_stack();
    } else if (registers_.sp() < sp || (registers_.sp() == sp && registers_.pc() == pc)) {
      return WalkEnd::BadCfa;
    }
    exact_ = interrupted_ = step.interrupted_caller;
  }
}

}  // namespace sonde
