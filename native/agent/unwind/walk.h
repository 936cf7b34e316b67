// One walk in progress. Lives on the signal handler's stack: about 1 KB.
#pragma once

#include <cstddef>

#include "common/guarded_memory.h"
#include "arch/arch.h"
#include "common/stack_bounds.h"
#include "unwind/rule_cache.h"
#include "unwind/step.h"
#include "unwind/unwind.h"

namespace sonde {

class Walk {
 public:
  // Without `out` the walk is dry: it stores no frames and only tells whether it arrives.
  Walk(const StackBounds& stack, const Anchor& anchor, RuleCache* cache, NativeFrame* out, size_t capacity)
      : stack_(stack), anchor_(anchor), cache_(cache), out_(out), capacity_(capacity) {}

  WalkResult run(const Registers& from, bool exact);

 private:
  static constexpr unsigned kMostSteps = 65535;

  bool dry() const { return out_ == nullptr; }
  bool arrived() const;

  // Chooses the memory that the coming frames may use: the thread's stack, or a part of an unknown one.
  void enter_stack();
  bool is_anchor_code(uint64_t pc) const;
  bool passes_anchor(uint64_t pc, uint64_t sp, uint64_t cfa) const;
  void open_path(bool exact);
  void close_path();
  Rule rule_for(uint64_t pc);
  Rule shared_rule(uint64_t pc, uint64_t key);
  bool is_plausible_caller(uint64_t pc);
  Step step_without_tables(bool generated, NativeFrame* frame);
  WalkEnd climb();

  // scan.cpp: the last resort, from the first frame whose step is in doubt.
  void try_scan();
  bool scan_from(const Registers& start, uint64_t sp);
  bool scan_from_saved_pointers(const Registers& start);
  void go_on_at_anchor();
  bool leads_home(const Registers& candidate);
  void go_on(const Registers& caller);

  // The first frame whose step did not come from the tables.
  struct Doubt {
    Registers registers;
    uint16_t count = 0;  // frames stored up to and with it; 0: no doubt
    bool generated = false;
  };

  const StackBounds stack_;
  const Anchor anchor_;
  RuleCache* const cache_;
  NativeFrame* const out_;
  const size_t capacity_;
  RulePaths* paths_ = nullptr;     // null: this walk is not worth remembering
  const RulePath* last_ = nullptr;
  RulePath* fresh_ = nullptr;
  unsigned hint_ = 0;              // where in the last path the next frame is expected
  StackWindow window_{};
  Registers registers_;
  WalkResult result_;
  Doubt doubt_;
  NativeFrame scratch_{};
  unsigned steps_ = 0;
  bool exact_ = true;
  bool interrupted_ = false;
};

}  // namespace sonde
