#include "python/code_table.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <initializer_list>

#include "common/hot_memory.h"
#include "python/text.h"

namespace sonde::python {
namespace {

constexpr uint32_t kMaxCodes = 1u << 16;           // numbers; a torch training program uses about 10,000
constexpr uint32_t kContentSlots = 1u << 17;       // hash → number, half full at most
constexpr uint32_t kCacheSlots = 1u << 15;         // key → number, overwritten when full
constexpr uint32_t kCacheWays = 4;
constexpr size_t kArenaBytes = size_t{24} << 20;   // names and line tables; touched pages only count
constexpr int64_t kLongestName = 1000;             // characters
constexpr int64_t kLongestFile = 4096;
constexpr int64_t kLongestLineTable = 1 << 20;     // bytes; a longer one is left out

// A slot is one word: the hash without its low bits, and a number (with the module flag) in them.
constexpr unsigned kNumberBits = 18;
constexpr uint64_t kNumberMask = (1u << kNumberBits) - 1;
constexpr uint32_t kModuleFlag = 1u << 17;
static_assert(kMaxCodes <= kModuleFlag);

struct Entry {
  CodeInfo info;
  std::atomic<bool> ready;
};

// The fields of a code object that make its identity and lead to its content.
struct Fields {
  uint64_t name, file, line_table;
  int32_t first_line, argument_count;
  uint64_t table_sample;  // length and a few words of the line table
};

struct Tables {
  Entry entry[kMaxCodes];
  std::atomic<uint64_t> content[kContentSlots];
  char arena[kArenaBytes];
};

Tables* tables = nullptr;
std::atomic<uint64_t>* cache = nullptr;  // kCacheSlots of them: the part that every sample looks into
std::atomic<uint32_t> next_number{1};
std::atomic<size_t> arena_used{0};
std::atomic<uint64_t> losses_full{0};
std::atomic<uint64_t> losses_unreadable{0};

uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15;
  return h ^ h >> 29;
}

struct HashSink {
  uint64_t hash = 0x243f6a8885a308d3;
  uint32_t size = 0;
  // Remembers the end of the text, enough to recognise names and files by their last part.
  char tail[64] = {};

  void operator()(const unsigned char* bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
    size += static_cast<uint32_t>(count);
    if (count >= sizeof tail) {
      memcpy(tail, bytes + count - sizeof tail, sizeof tail);
    } else {
      memmove(tail, tail + count, sizeof tail - count);
      memcpy(tail + sizeof tail - count, bytes, count);
    }
  }
  bool ends_with(const char* text) const {
    const size_t n = strlen(text);
    return n <= size && memcmp(tail + sizeof tail - n, text, n) == 0;
  }
};

struct CopySink {
  char* to;
  const char* end;
  void operator()(const unsigned char* bytes, size_t count) {
    const auto room = static_cast<size_t>(end - to);
    if (count > room) count = room;
    memcpy(to, bytes, count);
    to += count;
  }
};

// Freed code objects are soon replaced by others at the same address: `exec` of one string after the other gives
// the same pointers, name, file and first line. Their line tables differ, so a part of it is in the key.
template <class Visit>
void visit_table_sample(const Layout& layout, uint64_t table, uint64_t size, Visit visit) {
  if (size < 8 || size > static_cast<uint64_t>(kLongestLineTable)) return;
  const uint64_t data = table + static_cast<uint64_t>(layout.bytes_data);
  const uint64_t last = size - 8;
  for (const uint64_t at : {uint64_t{0}, last / 3, last / 3 * 2, last}) visit(data + at);
}

uint64_t sample_table(const Layout& layout, uint64_t table, uint32_t* fault) {
  const auto size = guarded_load<uint64_t>(table + static_cast<uint64_t>(layout.bytes_size), fault);
  uint64_t hash = mix(size, table);
  if (*fault) return hash;
  visit_table_sample(layout, table, size,
                     [&](uint64_t at) { hash = mix(hash, guarded_load<uint64_t>(at, fault)); });
  return hash;
}

void prefetch(uint64_t address) { __builtin_prefetch(reinterpret_cast<const void*>(address)); }

bool read_fields(const Layout& layout, uint64_t address, Fields* out) {
  uint32_t fault = 0;
  auto at = [address](int16_t offset) { return address + static_cast<uint64_t>(offset); };
  out->name = guarded_load<uint64_t>(at(layout.code_name), &fault);
  out->file = guarded_load<uint64_t>(at(layout.code_file), &fault);
  out->line_table = guarded_load<uint64_t>(at(layout.code_line_table), &fault);
  out->first_line = guarded_load<int32_t>(at(layout.code_first_line), &fault);
  out->argument_count = guarded_load<int32_t>(at(layout.code_argument_count), &fault);
  if (fault) return false;
  uint32_t table_fault = 0;  // a code without a readable line table still has a name
  out->table_sample = sample_table(layout, out->line_table, &table_fault);
  return true;
}

// The first slot for a hash; the remaining bits are kept in the slot itself.
uint32_t slot_of(uint64_t hash, uint32_t slots) {
  return static_cast<uint32_t>(hash & (slots - 1));
}

CodeRef reference(uint32_t value) {
  return {value & ~kModuleFlag, (value & kModuleFlag) != 0};
}

// Where a `self` that may be a module sits in local 0.
bool takes_module(const HashSink& name, const HashSink& file, int32_t arguments) {
  if (arguments < 1) return false;
  // 3.10 has no qualified names: a function called `forward` may be any; only modules get a name later.
  if (name.ends_with(".forward") || (name.size == 7 && name.ends_with("forward"))) return true;
  return file.ends_with("torch/nn/modules/module.py") &&
         (name.ends_with("_call_impl") || name.ends_with("_slow_forward"));
}

// Copies the content under a new number; 0 when there is no room.
uint32_t add(const Layout& layout, const Fields& code, const HashSink& name, const HashSink& file,
             const HashSink& lines) {
  const size_t wanted = size_t{name.size} + file.size + lines.size;
  if (next_number.load(std::memory_order_relaxed) >= kMaxCodes) return 0;
  const size_t begin = arena_used.fetch_add(wanted, std::memory_order_relaxed);
  if (begin + wanted > kArenaBytes) {
    arena_used.fetch_sub(wanted, std::memory_order_relaxed);
    return 0;
  }
  const uint32_t number = next_number.fetch_add(1, std::memory_order_relaxed);
  if (number >= kMaxCodes) {
    next_number.store(kMaxCodes, std::memory_order_relaxed);
    return 0;
  }
  char* const name_at = tables->arena + begin;
  char* const file_at = name_at + name.size;
  char* const lines_at = file_at + file.size;
  Entry& entry = tables->entry[number];
  entry.info = {name_at,    name.size,  file_at, file.size, lines_at, lines.size,
                code.first_line};
  stream_text(layout, code.name, kLongestName, CopySink{name_at, file_at});
  stream_text(layout, code.file, kLongestFile, CopySink{file_at, lines_at});
  if (lines.size > 0) {
    stream_bytes(layout, code.line_table, kLongestLineTable,
                 CopySink{lines_at, lines_at + lines.size});
  }
  entry.ready.store(true, std::memory_order_release);
  return number;
}

uint32_t find_or_add(const Layout& layout, const Fields& code) {
  HashSink name, file, lines;
  if (!stream_text(layout, code.name, kLongestName, name) ||
      !stream_text(layout, code.file, kLongestFile, file)) {
    losses_unreadable.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  if (!stream_bytes(layout, code.line_table, kLongestLineTable, lines)) {
    lines = HashSink{};
  }
  const uint32_t flag = takes_module(name, file, code.argument_count) ? kModuleFlag : 0;
  uint64_t hash = mix(mix(name.hash, file.hash), lines.hash);
  hash = mix(hash, static_cast<uint32_t>(code.first_line));
  const uint64_t tag = mix(hash, 1) & ~kNumberMask;
  uint32_t slot = slot_of(hash, kContentSlots);
  for (uint32_t probe = 0; probe < 64; ++probe, slot = (slot + 1) & (kContentSlots - 1)) {
    uint64_t held = tables->content[slot].load(std::memory_order_acquire);
    if (held == 0) {
      const uint32_t number = add(layout, code, name, file, lines);
      if (number == 0) break;
      // Another thread may take the slot first; then the content has two numbers, which is harmless.
      tables->content[slot].compare_exchange_strong(held, tag | number | flag, std::memory_order_release);
      return number | flag;
    }
    if ((held & ~kNumberMask) == tag) return static_cast<uint32_t>(held & kNumberMask);
  }
  losses_full.fetch_add(1, std::memory_order_relaxed);
  return flag;
}

}  // namespace

bool code_table_create() {
  if (tables != nullptr) return true;
  void* memory = mmap(nullptr, sizeof(Tables), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  constexpr size_t kCacheBytes = kCacheSlots * sizeof *cache;
  void* hot = hot_memory(kCacheBytes);
  if (!hot) hot = mmap(nullptr, kCacheBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (hot == MAP_FAILED) {
    munmap(memory, sizeof(Tables));
    return false;
  }
  cache = static_cast<std::atomic<uint64_t>*>(hot);
  tables = static_cast<Tables*>(memory);
  return true;
}

void prefetch_code(const Layout& layout, uint64_t address) {
  prefetch(address + static_cast<uint64_t>(layout.code_first_line));
  prefetch(address + static_cast<uint64_t>(layout.code_file));
  prefetch(address + static_cast<uint64_t>(layout.code_line_table));
}

void prefetch_line_table(const Layout& layout, uint64_t address) {
  uint32_t fault = 0;
  prefetch(guarded_load<uint64_t>(address + static_cast<uint64_t>(layout.code_line_table), &fault) +
           static_cast<uint64_t>(layout.bytes_size));
}

void prefetch_table_sample(const Layout& layout, uint64_t address) {
  uint32_t fault = 0;
  const auto table = guarded_load<uint64_t>(address + static_cast<uint64_t>(layout.code_line_table), &fault);
  const auto size = guarded_load<uint64_t>(table + static_cast<uint64_t>(layout.bytes_size), &fault);
  if (!fault) visit_table_sample(layout, table, size, prefetch);
}

CodeRef code_lookup(const Layout& layout, uint64_t address) {
  Fields code;
  if (tables == nullptr || !read_fields(layout, address, &code)) {
    losses_unreadable.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  uint64_t hash = mix(0x13198a2e03707344, address);
  hash = mix(hash, code.name);
  hash = mix(hash, code.file);
  hash = mix(hash, static_cast<uint32_t>(code.first_line));
  hash = mix(hash, code.table_sample);
  const uint64_t tag = mix(hash, 2) & ~kNumberMask;
  const uint32_t first = slot_of(hash, kCacheSlots) & ~(kCacheWays - 1);
  std::atomic<uint64_t>* free_way = nullptr;
  for (uint32_t way = 0; way < kCacheWays; ++way) {
    std::atomic<uint64_t>& cached = cache[first + way];
    const uint64_t held = cached.load(std::memory_order_relaxed);
    if ((held & ~kNumberMask) == tag && held != 0) return reference(static_cast<uint32_t>(held & kNumberMask));
    if (held == 0 && free_way == nullptr) free_way = &cached;
  }
  const uint32_t value = find_or_add(layout, code);
  if ((value & ~kModuleFlag) != 0) {
    if (free_way == nullptr) free_way = &cache[first + (hash >> 40) % kCacheWays];
    free_way->store(tag | value, std::memory_order_relaxed);
  }
  return reference(value);
}

uint32_t code_count() {
  const uint32_t next = next_number.load(std::memory_order_relaxed);
  return (next < kMaxCodes ? next : kMaxCodes) - 1;
}

bool code_info(uint32_t number, CodeInfo* out) {
  if (tables == nullptr || number == 0 || number >= kMaxCodes) return false;
  const Entry& entry = tables->entry[number];
  if (!entry.ready.load(std::memory_order_acquire)) return false;
  *out = entry.info;
  return true;
}

uint64_t code_losses_full() { return losses_full.load(std::memory_order_relaxed); }
uint64_t code_losses_unreadable() { return losses_unreadable.load(std::memory_order_relaxed); }

}  // namespace sonde::python
