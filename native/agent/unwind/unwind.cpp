// The door of this room: what the rest of the agent calls.
#include "unwind/unwind.h"

#include <sys/mman.h>

#include "common/hot_memory.h"
#include "unwind/modules.h"
#include "unwind/rule_cache.h"
#include "unwind/shared_rules.h"
#include "unwind/walk.h"

namespace sonde {
RuleCache* new_rule_cache() {
  if (void* hot = hot_memory(sizeof(RuleCache))) return static_cast<RuleCache*>(hot);
  void* memory = mmap(nullptr, sizeof(RuleCache), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  // Zero pages are a valid empty cache, and stay unallocated until used.
  return memory == MAP_FAILED ? nullptr : static_cast<RuleCache*>(memory);
}

WalkResult walk(const Registers& from, const StackBounds& stack, const Anchor& anchor, RuleCache* cache,
                bool leaf_exact, NativeFrame* out, size_t capacity) {
  const ReadModules reading;
  Walk one(stack, anchor, cache, out, capacity < UINT16_MAX ? capacity : UINT16_MAX);
  return one.run(from, leaf_exact);
}

void walk_abandoned() { ReadModules::abandon(); }

void unwind_refresh() {
  shared_rules_create();
  refresh_modules();
}
void unwind_after_fork() { modules_after_fork(); }

}  // namespace sonde
