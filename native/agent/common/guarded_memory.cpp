#include "common/guarded_memory.h"

#include <atomic>
#include <cstring>

namespace sonde {
namespace {

struct Fixup {
  int32_t load;    // distance from this field to the guarded instruction
  int32_t resume;  // distance from this field to the code that reports the fault
};

std::atomic<uint64_t> g_faults{0};

uint64_t target(const int32_t& field) {
  return reinterpret_cast<uint64_t>(&field) + static_cast<int64_t>(field);
}

}  // namespace

extern "C" {
// Set by the linker around the section `sonde_fixups`.
extern const Fixup __start_sonde_fixups[] __attribute__((visibility("hidden")));
extern const Fixup __stop_sonde_fixups[] __attribute__((visibility("hidden")));
}

bool guarded_fault_fixup(void* ucontext) {
  auto* context = static_cast<ucontext_t*>(ucontext);
  const uint64_t pc = pc_of(context);
  // A few dozen entries, searched only after a fault (microseconds anyway): no need to sort.
  for (const Fixup* fixup = __start_sonde_fixups; fixup < __stop_sonde_fixups; ++fixup) {
    if (target(fixup->load) == pc) {
      set_pc(context, target(fixup->resume));
      g_faults.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

uint64_t guarded_fault_count() { return g_faults.load(std::memory_order_relaxed); }

size_t guarded_copy(void* to, uint64_t from, size_t bytes) {
  auto* out = static_cast<uint8_t*>(to);
  size_t done = 0;
  uint32_t fault = 0;
  for (; done + 8 <= bytes; done += 8) {
    const auto word = guarded_load<uint64_t>(from + done, &fault);
    if (fault) break;
    memcpy(out + done, &word, 8);
  }
  fault = 0;
  for (; done < bytes; ++done) {
    const auto byte = guarded_load<uint8_t>(from + done, &fault);
    if (fault) break;
    out[done] = byte;
  }
  return done;
}

}  // namespace sonde
