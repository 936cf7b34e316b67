#include "threads/own.h"

#include <atomic>

#include "common/system.h"

namespace sonde {
namespace {
constexpr int kMost = 8;
constinit std::atomic<int> tids[kMost];

void replace_first(int from, int to) {
  for (auto& tid : tids) {
    int expected = from;
    if (tid.compare_exchange_strong(expected, to, std::memory_order_acq_rel)) return;
  }
}
}  // namespace

void note_own_thread() {
  if (!is_own_tid(thread_id())) replace_first(0, thread_id());
}

void forget_own_thread() { replace_first(thread_id(), 0); }

bool is_own_tid(int tid) {
  for (const auto& one : tids) {
    if (one.load(std::memory_order_acquire) == tid) return tid != 0;
  }
  return false;
}

int own_thread_count() {
  int count = 0;
  for (const auto& one : tids) count += one.load(std::memory_order_acquire) != 0;
  return count;
}

void own_threads_after_fork() {
  for (auto& one : tids) one.store(0, std::memory_order_relaxed);
}

}  // namespace sonde
