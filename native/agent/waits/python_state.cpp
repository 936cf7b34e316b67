#include "waits/python_state.h"

#include "common/safe_memory.h"

namespace sonde {
namespace {

constexpr unsigned kWords = 64;  // the pthread_t lies within these in every version
constexpr unsigned kMaxStates = 1024;

bool belongs_to(const uint64_t* state, uint64_t pthread) {
  for (unsigned i = 2; i < kWords; i++) {
    if (state[i] == pthread) return true;
  }
  return false;
}

}  // namespace

void* find_python_state(void* known, uint64_t pthread) {
  for (unsigned direction = 0; direction < 2; direction++) {  // prev, then next
    uint64_t at = reinterpret_cast<uint64_t>(known);
    for (unsigned i = 0; at && i < kMaxStates; i++) {
      uint64_t state[kWords];
      if (!safe_copy(state, at, sizeof state)) break;
      if (belongs_to(state, pthread)) return reinterpret_cast<void*>(at);
      at = state[direction];
    }
  }
  return nullptr;
}

}  // namespace sonde
