// The walk from a thread's registers to its root, frame by frame.
#include "unwind/unwind.h"

#include <sys/mman.h>

#include <atomic>

#include "common/guarded_memory.h"
#include "unwind/modules.h"
#include "unwind/rule_cache.h"
#include "unwind/step.h"

namespace sonde {
namespace {

// How much of an unknown stack (coroutine, alternate signal stack) may be read.
constexpr uint64_t kForeignStackBytes = 8u << 20;

std::atomic<IsEval> g_is_eval{nullptr};

bool is_eval(uint64_t pc) {
  const IsEval check = g_is_eval.load(std::memory_order_relaxed);
  return check && check(pc);
}

Rule cached_rule(RuleCache* cache, uint64_t pc) {
  if (cache == nullptr) return find_rule(pc);
  RuleCache::Entry& entry = cache->place(pc);
  const uint64_t key = RuleCache::key(pc);
  if (entry.key != key) {
    const Rule rule = find_rule(pc);
    if (rule.kind == Rule::Kind::NoLibrary) return rule;  // may become one at any moment
    entry.key = key;
    entry.rule = rule;
  }
  return entry.rule;
}

class Walk {
 public:
  Walk(const StackBounds& stack, const Anchor& anchor, RuleCache* cache, NativeFrame* out, size_t capacity)
      : stack_(stack), anchor_(anchor), cache_(cache), out_(out), capacity_(capacity) {}

  WalkResult run(const Registers& from, bool exact) {
    registers_ = from;
    exact_ = exact;
    result_.anchor_checked = anchor_.address != 0;
    enter_stack();
    result_.end = climb();
    if (result_.foreign_stack && result_.end != WalkEnd::Root) result_.end = WalkEnd::OffStack;
    return result_;
  }

 private:
  // Chooses the memory that the coming frames may use: the thread's stack, or a part of an unknown one.
  void enter_stack() {
    const uint64_t sp = registers_.sp();
    const uint64_t low = sp > kRedZoneBytes ? sp - kRedZoneBytes : 0;
    if (sp >= stack_.low && sp < stack_.high) {
      window_ = {low > stack_.low ? low : stack_.low, stack_.high};
    } else {
      window_ = {low, sp + kForeignStackBytes};
      result_.foreign_stack = true;
    }
  }

  bool passes_anchor(uint64_t pc, uint64_t sp, uint64_t cfa) const {
    if (anchor_.address < sp || anchor_.address >= cfa) return false;
    return anchor_.code_high ? pc >= anchor_.code_low && pc <= anchor_.code_high : is_eval(pc);
  }

  WalkEnd climb() {
    bool interrupted = false;
    for (;;) {
      const uint64_t pc = registers_.pc(), sp = registers_.sp();
      if (pc == 0) return WalkEnd::Root;
      if (result_.count == capacity_) return WalkEnd::Truncated;
      // A return address may be the first byte of the next function (the call never returns).
      const uint64_t lookup = exact_ ? pc : pc - 1;
      NativeFrame& frame = out_[result_.count++];
      frame = {pc, static_cast<uint8_t>(interrupted ? kFrameSignal : 0)};
      if (is_eval(lookup)) frame.flags |= kFrameEval;
      const Rule rule = cached_rule(cache_, lookup);
      Step step;
      switch (rule.kind) {
        case Rule::Kind::Root: return WalkEnd::Root;
        case Rule::Kind::Usual:
        case Rule::Kind::Deref: step = apply_rule(rule, window_, &registers_); break;
        case Rule::Kind::Complex: step = apply_row(lookup, window_, &registers_); break;
        case Rule::Kind::NoEntry: return WalkEnd::NoCfi;
        case Rule::Kind::NoLibrary: frame.flags |= kFrameJit; return WalkEnd::NoCaller;
        case Rule::Kind::Damaged:
        case Rule::Kind::Unknown: return WalkEnd::BadRule;
      }
      if (step.outcome == Step::Outcome::Failed) return step.why;
      if (passes_anchor(lookup, sp, step.cfa)) result_.anchor_hit = true;
      if (step.interrupted_caller) {
        enter_stack();
      } else if (registers_.sp() < sp || (registers_.sp() == sp && registers_.pc() == pc)) {
        return WalkEnd::BadCfa;
      }
      exact_ = interrupted = step.interrupted_caller;
    }
  }

  const StackBounds stack_;
  const Anchor anchor_;
  RuleCache* const cache_;
  NativeFrame* const out_;
  const size_t capacity_;
  StackWindow window_{};
  Registers registers_;
  WalkResult result_;
  bool exact_ = true;
};

}  // namespace

RuleCache* new_rule_cache() {
  void* memory = mmap(nullptr, sizeof(RuleCache), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  // Zero pages are a valid empty cache, and stay unallocated until used.
  return memory == MAP_FAILED ? nullptr : static_cast<RuleCache*>(memory);
}

void free_rule_cache(RuleCache* cache) {
  if (cache) munmap(cache, sizeof(RuleCache));
}

WalkResult walk(const Registers& from, const StackBounds& stack, const Anchor& anchor, RuleCache* cache,
                bool leaf_exact, NativeFrame* out, size_t capacity) {
  const ReadModules reading;
  Walk one(stack, anchor, cache, out, capacity < UINT16_MAX ? capacity : UINT16_MAX);
  return one.run(from, leaf_exact);
}

void unwind_refresh() { refresh_modules(); }
void unwind_after_fork() { modules_after_fork(); }
void unwind_set_is_eval(IsEval check) { g_is_eval.store(check, std::memory_order_relaxed); }

}  // namespace sonde
