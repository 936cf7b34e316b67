#include "unwind/modules.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>

namespace sonde {
namespace {

struct ModuleTable {
  uint32_t count;
  uint32_t capacity;
  uint64_t bytes;
  ModuleTable* next_retired;
  Module* module;  // behind this header, in the same mapping
};

std::atomic<ModuleTable*> g_table{nullptr};
std::atomic<uint32_t> g_readers{0};
__thread uint32_t reading_here __attribute__((tls_model("initial-exec"))) = 0;
std::atomic<uint32_t> g_unloads{1};

// The modules that wait, again: asked in every sample. A program with more than four OpenMP runtimes is unheard of.
constexpr uint32_t kMostWaiting = 4;
struct alignas(64) WaitingRanges {
  std::atomic<uint64_t> low[kMostWaiting], high[kMostWaiting];  // high 0: none
};
constinit WaitingRanges g_waiting;

// Only the background thread touches these.
ModuleTable* g_retired = nullptr;
LoaderCounts g_counts_seen;
uint32_t g_next_identity = 1;

bool is_openmp_runtime(const char* path) {
  const char* name = strrchr(path, '/');
  name = name ? name + 1 : path;
  return strncmp(name, "libgomp", 7) == 0 || strncmp(name, "libiomp5", 8) == 0 || strncmp(name, "libomp", 6) == 0;
}

int read_counts(dl_phdr_info* info, size_t, void* out) {
  *static_cast<LoaderCounts*>(out) = {info->dlpi_adds, info->dlpi_subs};
  return 1;  // the first entry knows
}

int add_module(dl_phdr_info* info, size_t, void* out) {
  auto* table = static_cast<ModuleTable*>(out);
  if (table->count == table->capacity) return 1;
  Module module;
  module.base = info->dlpi_addr;
  module.low = module.code_low = ~uint64_t{0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    const uint64_t start = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_GNU_EH_FRAME) module.eh_frame_hdr = start;
    if (header.p_type != PT_LOAD) continue;
    if (start < module.low) module.low = start;
    if (start + header.p_memsz > module.high) module.high = start + header.p_memsz;
    if (!(header.p_flags & PF_X)) continue;
    if (start < module.code_low) module.code_low = start;
    if (start + header.p_memsz > module.code_high) module.code_high = start + header.p_memsz;
  }
  if (module.high == 0) return 0;
  module.waits = info->dlpi_name && is_openmp_runtime(info->dlpi_name);
  // Insertion keeps the table sorted; a few hundred modules at most.
  uint32_t at = table->count++;
  for (; at > 0 && table->module[at - 1].low > module.low; --at) table->module[at] = table->module[at - 1];
  table->module[at] = module;
  return 0;
}

void keep_identities(const ModuleTable* old, ModuleTable* fresh) {
  for (uint32_t i = 0; i < fresh->count; ++i) {
    Module& module = fresh->module[i];
    for (uint32_t k = 0; old && k < old->count; ++k) {
      if (old->module[k].low == module.low && old->module[k].high == module.high) {
        module.identity = old->module[k].identity;
      }
    }
    if (module.identity == 0) module.identity = g_next_identity++;
  }
}

void publish_waiting(const ModuleTable& table) {
  uint32_t used = 0;
  for (uint32_t i = 0; i < table.count && used < kMostWaiting; ++i) {
    if (!table.module[i].waits) continue;
    const uint32_t at = used++;
    if (g_waiting.low[at].load(std::memory_order_relaxed) == table.module[i].low) continue;
    g_waiting.high[at].store(0, std::memory_order_release);  // no moment with one's low and the other's high
    g_waiting.low[at].store(table.module[i].low, std::memory_order_release);
    g_waiting.high[at].store(table.module[i].high, std::memory_order_release);
  }
  for (; used < kMostWaiting; ++used) g_waiting.high[used].store(0, std::memory_order_release);
}

void free_retired() {
  if (g_retired == nullptr || g_readers.load(std::memory_order_seq_cst) != 0) return;
  while (g_retired) {
    ModuleTable* next = g_retired->next_retired;
    munmap(g_retired, g_retired->bytes);
    g_retired = next;
  }
}

}  // namespace

// Left for good in between, one reader too many is counted, never one too few.
ReadModules::ReadModules() {
  g_readers.fetch_add(1, std::memory_order_seq_cst);
  reading_here++;
}
ReadModules::~ReadModules() {
  if (reading_here == 0) return;  // abandoned meanwhile
  reading_here--;
  g_readers.fetch_sub(1, std::memory_order_seq_cst);
}
void ReadModules::abandon() {
  g_readers.fetch_sub(reading_here, std::memory_order_seq_cst);
  reading_here = 0;
}

const Module* find_module(uint64_t pc) {
  const ModuleTable* table = g_table.load(std::memory_order_seq_cst);
  if (table == nullptr) return nullptr;
  uint32_t low = 0, high = table->count;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (table->module[middle].low <= pc) low = middle + 1; else high = middle;
  }
  return low > 0 && pc < table->module[low - 1].high ? &table->module[low - 1] : nullptr;
}

bool in_waiting_module(uint64_t pc) {
  for (uint32_t i = 0; i < kMostWaiting; ++i) {
    if (pc >= g_waiting.low[i].load(std::memory_order_relaxed) &&
        pc < g_waiting.high[i].load(std::memory_order_acquire)) {
      return true;
    }
  }
  return false;
}

uint32_t unload_generation() { return g_unloads.load(std::memory_order_relaxed); }
void note_unload() { g_unloads.fetch_add(1, std::memory_order_relaxed); }

bool refresh_modules() {
  free_retired();
  const LoaderCounts now = loader_counts();
  if (g_table.load() && now == g_counts_seen) return false;
  if (now.unloads != g_counts_seen.unloads) note_unload();
  // A few spare places: libraries may be loaded between the two passes.
  const auto capacity = static_cast<uint32_t>(now.loads - now.unloads) + 16;
  const uint64_t bytes = sizeof(ModuleTable) + capacity * sizeof(Module);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  auto* fresh = static_cast<ModuleTable*>(memory);
  fresh->capacity = capacity;
  fresh->bytes = bytes;
  fresh->module = reinterpret_cast<Module*>(fresh + 1);
  dl_iterate_phdr(add_module, fresh);
  ModuleTable* old = g_table.load();
  keep_identities(old, fresh);
  g_table.store(fresh, std::memory_order_seq_cst);
  publish_waiting(*fresh);
  if (old) {
    old->next_retired = g_retired;
    g_retired = old;
  }
  g_counts_seen = now;
  return true;
}

// While a library comes or goes the loader holds its lock. A thread that is there when another one forks leaves it locked
// in the child for ever (glibc resets only its other locks), and whoever lists the libraries then never returns: what was
// known before holds until the loader says that it is done.
LoaderCounts loader_counts() {
  static constinit LoaderCounts known;
  const bool at_work = __atomic_load_n(&_r_debug.r_state, __ATOMIC_ACQUIRE) != r_debug::RT_CONSISTENT;
  if (at_work && known.loads) return known;
  LoaderCounts now;
  dl_iterate_phdr(read_counts, &now);
  known = now;
  return now;
}

void modules_after_fork() {
  g_readers.store(0);
  reading_here = 0;
}

}  // namespace sonde

// A library that goes away takes its rules with it. Unlike dlopen, dlclose does not look at
// its caller, so standing in front of it changes nothing for the program.
extern "C" __attribute__((visibility("default"))) int dlclose(void* handle) {
  using Dlclose = int (*)(void*);
  static std::atomic<Dlclose> real{nullptr};
  Dlclose call = real.load(std::memory_order_relaxed);
  if (call == nullptr) {
    call = reinterpret_cast<Dlclose>(dlsym(RTLD_NEXT, "dlclose"));
    real.store(call, std::memory_order_relaxed);
  }
  const int result = call(handle);
  sonde::note_unload();
  return result;
}
