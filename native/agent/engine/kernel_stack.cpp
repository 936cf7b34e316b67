#include "engine/kernel_stack.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#include "common/page.h"
#include "engine/engine.h"

namespace sonde {
namespace {

constexpr uint64_t kHighestUser = uint64_t{1} << 63;  // markers and kernel code lie above
constexpr uint64_t kFirstMarker = static_cast<uint64_t>(PERF_CONTEXT_MAX);

uint64_t head_of(const perf_event_mmap_page* page) { return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE); }
void set_tail(perf_event_mmap_page* page, uint64_t tail) {
  __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

// Records consist of whole words, but may go round the end of the ring.
uint64_t word_at(const perf_event_mmap_page* page, uint64_t position) {
  const auto* data = reinterpret_cast<const uint8_t*>(page) + page_bytes();  // behind the control page
  return *reinterpret_cast<const uint64_t*>(data + position % kernel_ring_bytes());
}

bool is_kernel_code(uint64_t address) { return address >= kHighestUser && address < kFirstMarker; }

// A sample is: header, time, number of addresses, addresses.
constexpr uint64_t kTimeAt = 8, kCountAt = 16, kAddressesAt = 24;

// The first kernel address tells whether it has any.
bool holds_kernel_code(const perf_event_mmap_page* page, uint64_t position) {
  const uint64_t count = word_at(page, position + kCountAt);
  for (uint64_t i = 0; i < count && i < 2; i++) {  // a marker comes first
    if (is_kernel_code(word_at(page, position + kAddressesAt + 8 * i))) return true;
  }
  return false;
}

}  // namespace

void* map_event(int fd, bool with_stacks) {
  const uint64_t bytes = page_bytes() + (with_stacks ? kernel_ring_bytes() : 0);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory != MAP_FAILED) return memory;
  return with_stacks ? map_event(fd, false) : nullptr;
}

bool has_room_for_stacks(const void* ring) {
  return ring && static_cast<const perf_event_mmap_page*>(ring)->data_size != 0;
}

void unmap_event(void* ring) {
  if (!ring) return;
  munmap(ring, page_bytes() + (has_room_for_stacks(ring) ? kernel_ring_bytes() : 0));
}

uint32_t take_kernel_stack(Thread* thread, uint64_t time_ns, uint64_t pc) {
  auto* page = static_cast<perf_event_mmap_page*>(thread->kernel_ring);
  if (!has_room_for_stacks(page)) return 0;
  const uint64_t head = head_of(page);
  uint64_t chosen = 0, candidates = 0;
  for (uint64_t at = page->data_tail; at < head;) {
    const uint64_t header = word_at(page, at);  // u32 type, u16 misc, u16 bytes
    const uint64_t bytes = header >> 48;
    if (bytes < sizeof(perf_event_header) || bytes > head - at) break;
    if (static_cast<uint32_t>(header) == PERF_RECORD_SAMPLE) {
      if (!holds_kernel_code(page, at) ||
          !thread->engine->is_of_this_stay(thread, word_at(page, at + kTimeAt), time_ns, pc)) {
        candidates = 0;  // it was back in user code since: what came before is another stay
      } else if (next_random(&thread->random) % ++candidates == 0) {
        chosen = at;
      }
    }
    at += bytes;
  }
  uint32_t frames = 0;
  if (candidates) {
    const uint64_t count = word_at(page, chosen + kCountAt);
    for (uint64_t i = 0; i < count && frames < kMaxKernelFrames; i++) {
      const uint64_t address = word_at(page, chosen + kAddressesAt + 8 * i);
      if (is_kernel_code(address)) thread->kernel[frames++] = address;
    }
  }
  set_tail(page, head);
  return frames;
}

void drop_kernel_stacks(Thread* thread) {
  if (auto* page = static_cast<perf_event_mmap_page*>(thread->kernel_ring)) set_tail(page, head_of(page));
}

}  // namespace sonde
