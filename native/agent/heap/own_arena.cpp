#include "heap/own_arena.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "background/background.h"
#include "common/clock.h"
#include "common/safe_memory.h"
#include "common/system.h"

namespace sonde {
namespace {

// glibc's malloc.c and arena.c, 64 bit, since 2.10.
constexpr uint64_t kHeapBytes = 64u << 20;  // a heap of a second arena is aligned so; its first word points to the arena
constexpr uint64_t kSecondArena = 4;        // in the word before a block
constexpr uint64_t kFlags = 7;
constexpr size_t kProbeBytes = 4096;  // too large for a thread's cache of free blocks
// A thread's cache of free blocks: a null pointer is made good until 2.41; later ones start with a dummy instead.
constexpr int kCacheFirst = 26, kCacheLast = 41;
constexpr uint64_t kCacheChunks[] = {0x250, 0x290};
// The limits, as `mp_` begins: {trim_threshold, top_pad, mmap_threshold, arena_test}.
constexpr uint64_t kDefaultLimit = 128u << 10, kTopPad = 128u << 10, kArenaTest = 8;
constexpr uint64_t kAnswerWithinNs = 300'000'000;

struct Libc {
  uint64_t thread_block, thread_bytes;  // thread-local variables, relative to the thread pointer
  uint64_t data, data_end;              // writable ones
  int minor;
  bool serves_malloc;  // no other allocator stands before it
};

enum Request : uint32_t { kNone, kAsked, kServed };

constinit Libc libc = {};
constinit std::atomic<uint32_t> request{kNone};
constinit void* arena = nullptr;           // null: nothing is to be changed
constinit uint64_t arena_word = 0;         // of each thread: its arena, relative to the thread pointer
constinit uint64_t cache_word = 0;         // its cache of free blocks; 0: left as it is
constinit uint64_t* limits = nullptr;      // {trim, pad, mmap}; null: not found

// Of the calling thread.
struct Swapped {
  void* arena;      // the program's, while ours is set
  void* cache;
  void* own_cache;  // ours, while the program's is set
  int depth;
};
constinit thread_local Swapped here __attribute__((tls_model("initial-exec"))) = {};

uint64_t thread_pointer() {
  uint64_t pointer;
  __asm__("mov %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

void*& word(uint64_t offset) { return *reinterpret_cast<void**>(thread_pointer() + offset); }

bool ends_with(const char* text, const char* end) {
  const size_t length = std::strlen(text), tail = std::strlen(end);
  return length >= tail && !std::strcmp(text + length - tail, end);
}

int note_one(dl_phdr_info* info, size_t, void*) {
  if (!info->dlpi_name || !ends_with(info->dlpi_name, "/libc.so.6")) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_TLS && info->dlpi_tls_data) {
      libc.thread_block = reinterpret_cast<uint64_t>(info->dlpi_tls_data) - thread_pointer();
      libc.thread_bytes = segment.p_memsz;
    }
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W)) {
      libc.data = info->dlpi_addr + segment.p_vaddr;
      libc.data_end = libc.data + segment.p_memsz;
    }
  }
  return 1;
}

bool malloc_is_libcs() {
  Dl_info found = {};
  void* const called = dlsym(RTLD_DEFAULT, "malloc");
  return called && dladdr(called, &found) && found.dli_fname && ends_with(found.dli_fname, "/libc.so.6");
}

uint64_t chunk_of(uint64_t block) {
  uint64_t size = 0;
  return block % 16 == 0 && safe_read(block - 8, &size) ? size & ~kFlags : 0;
}

bool is_cache_chunk(uint64_t bytes) { return bytes == kCacheChunks[0] || bytes == kCacheChunks[1]; }

// The one word of the calling thread's libc variables that `fits`; 0 when none or several do.
template <typename Fits>
uint64_t find_word(Fits fits) {
  uint64_t found = 0;
  for (uint64_t at = 0; at + 8 <= libc.thread_bytes; at += 8) {
    const uint64_t offset = libc.thread_block + at;
    if (!fits(reinterpret_cast<uint64_t>(word(offset)))) continue;
    if (found) return 0;
    found = offset;
  }
  return found;
}

uint64_t* find_limits() {
  uint64_t* found = nullptr;
  for (uint64_t at = libc.data; at + 32 <= libc.data_end; at += 8) {
    uint64_t w[4];
    if (!safe_copy(w, at, sizeof w)) return nullptr;
    const bool grown = w[0] == 2 * w[2] && w[2] > kDefaultLimit;
    if (w[1] != kTopPad || w[3] != kArenaTest || !(grown || (w[0] == kDefaultLimit && w[2] == kDefaultLimit))) continue;
    if (found) return nullptr;
    found = reinterpret_cast<uint64_t*>(at);
  }
  return found;
}

// The asking thread's variables hold what they should, too.
bool looks_right_here() {
  const auto mine = reinterpret_cast<uint64_t>(word(arena_word));
  uint64_t owner = 0;
  const bool main_arena = mine >= libc.data && mine < libc.data_end;
  const bool second = mine && safe_read(mine & ~(kHeapBytes - 1), &owner) && owner == mine;
  if (mine && !main_arena && !second) return false;
  if (cache_word) {
    const auto cache = reinterpret_cast<uint64_t>(word(cache_word));
    if (cache && !is_cache_chunk(chunk_of(cache))) cache_word = 0;
  }
  return true;
}

void look() {
  void* const block = malloc(kProbeBytes);
  const auto at = reinterpret_cast<uint64_t>(block);
  uint64_t before = 0, owner = 0;
  if (block && safe_read(at - 8, &before) && (before & kSecondArena) && safe_read(at & ~(kHeapBytes - 1), &owner) &&
      owner / kHeapBytes == at / kHeapBytes) {
    arena_word = find_word([owner](uint64_t value) { return value == owner; });
    if (libc.minor >= kCacheFirst && libc.minor <= kCacheLast) {
      cache_word = find_word([owner](uint64_t value) {
        return value / kHeapBytes == owner / kHeapBytes && value != owner && is_cache_chunk(chunk_of(value));
      });
    }
    limits = find_limits();
    if (arena_word) arena = reinterpret_cast<void*>(owner);
  }
  free(block);
}

}  // namespace

// Asked once, when the agent starts: in the child of a fork another thread may have taken the loader's lock with it.
void note_libc() {
  if (libc.minor) return;
  dl_iterate_phdr(note_one, nullptr);
  const char* const version = gnu_get_libc_version();
  libc.serves_malloc = malloc_is_libcs();
  libc.minor = version[0] == '2' && version[1] == '.' ? std::atoi(version + 2) : -1;
}

void serve_arena_request() {
  if (request.load(std::memory_order_acquire) != kAsked) return;
  if (libc.thread_bytes && libc.data && libc.minor > 0 && libc.serves_malloc) look();
  request.store(kServed, std::memory_order_release);
  futex_wake(&request);
}

bool ask_for_own_arena() {
  uint32_t expected = kNone;
  if (request.compare_exchange_strong(expected, kAsked)) {
    wake_background();
    const uint64_t until_ns = mono_ns() + kAnswerWithinNs;
    for (uint64_t now_ns = mono_ns(); request.load(std::memory_order_acquire) == kAsked; now_ns = mono_ns()) {
      if (now_ns >= until_ns) return false;
      futex_wait(&request, kAsked, until_ns - now_ns);
    }
    if (arena && !looks_right_here()) arena = nullptr;
  }
  return request.load(std::memory_order_acquire) == kServed && arena;
}

void enter_own_arena() {
  if (!arena || here.depth++) return;
  here.arena = word(arena_word);
  word(arena_word) = arena;
  if (!cache_word) return;
  here.cache = word(cache_word);
  word(cache_word) = here.own_cache;  // null the first time: glibc makes one, from the arena that is set
}

void leave_own_arena() {
  if (!arena || !here.depth || --here.depth) return;
  word(arena_word) = here.arena;
  if (!cache_word) return;
  here.own_cache = word(cache_word);
  word(cache_word) = here.cache;
}

HeapLimits heap_limits() { return limits ? HeapLimits{limits[0], limits[2]} : HeapLimits{}; }

void restore_heap_limits(HeapLimits as) {
  if (!limits || !as.mmap_bytes || limits[2] == as.mmap_bytes) return;
  limits[0] = as.trim_bytes;
  limits[2] = as.mmap_bytes;
}

}  // namespace sonde
