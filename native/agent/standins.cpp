// Stand-ins for rooms that are not furnished yet. Weak: a real definition replaces each.
#include <cstdlib>

#include "jit/jit.h"
#include "pools/owner.h"
#include "python/frames.h"
#include "unwind/unwind.h"

#define SONDE_WEAK __attribute__((weak))

namespace sonde {

SONDE_WEAK RuleCache* new_rule_cache() { return nullptr; }
SONDE_WEAK void free_rule_cache(RuleCache*) {}
SONDE_WEAK WalkResult walk(const Registers& from, const StackBounds&, const Anchor&, RuleCache*, bool,
                           NativeFrame* out, size_t capacity) {
  WalkResult result;
  if (!capacity) return result;
  out[0] = {from.pc(), 0};
  result.count = 1;
  result.end = WalkEnd::Truncated;
  return result;
}
SONDE_WEAK void unwind_refresh() {}

SONDE_WEAK bool python_attach(const char**) { return true; }
SONDE_WEAK const char* python_version() { return ""; }
SONDE_WEAK void* python_thread_state() { return nullptr; }
SONDE_WEAK PythonWalk python_walk(void*, PythonFrame*, size_t) { return {}; }
SONDE_WEAK Anchor python_anchor(void*, const StackBounds&) { return {}; }
SONDE_WEAK bool python_is_eval(uint64_t) { return false; }
SONDE_WEAK void python_write_codes(log::Writer&) {}
SONDE_WEAK void python_after_fork() {}

SONDE_WEAK PoolPosition pool_position(uint64_t) { return {}; }
SONDE_WEAK void pools_refresh() {}
SONDE_WEAK void pools_after_fork() {}

SONDE_WEAK void jit_poll(log::Writer&) {}
SONDE_WEAK void jit_after_fork() {}

}  // namespace sonde
