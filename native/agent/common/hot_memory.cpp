#include "common/hot_memory.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

namespace sonde {
namespace {

constexpr size_t kBytes = size_t{2} << 20;  // a huge page of x86-64
constexpr size_t kLineBytes = 64;

// Maps twice as much, to cut an aligned page out of it.
uint8_t* map_page() {
  void* memory = mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t page = (start + kBytes - 1) & ~(kBytes - 1);
  if (page > start) munmap(memory, page - start);
  munmap(reinterpret_cast<void*>(page + kBytes), start + kBytes - page);
  madvise(reinterpret_cast<void*>(page), kBytes, MADV_HUGEPAGE);
  return reinterpret_cast<uint8_t*>(page);
}

std::atomic<uint8_t*> page{nullptr};
std::atomic<size_t> used{0};

}  // namespace

void* hot_memory(size_t bytes) {
  uint8_t* base = page.load(std::memory_order_acquire);
  if (!base) {
    uint8_t* fresh = map_page();
    if (!fresh) return nullptr;
    if (page.compare_exchange_strong(base, fresh, std::memory_order_acq_rel)) base = fresh;
    else munmap(fresh, kBytes);
  }
  bytes = (bytes + kLineBytes - 1) & ~(kLineBytes - 1);
  const size_t at = used.fetch_add(bytes, std::memory_order_relaxed);
  if (at + bytes > kBytes) {
    used.fetch_sub(bytes, std::memory_order_relaxed);
    return nullptr;
  }
  return base + at;
}

}  // namespace sonde
