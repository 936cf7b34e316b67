#include "attach/slots.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <initializer_list>

#include "common/page.h"
#include "unwind/modules.h"

namespace sonde {
namespace {

constexpr uint32_t kMostLibraries = 1024, kMostSlots = 4096, kMostNames = 256;
constexpr size_t kLongestPath = 512;

struct Name {
  const char* text;
  void* ours;
  void* behind;  // libc's, for functions of libc; null: each library has its own
};

struct Slot {
  uint64_t* at;
  uint64_t original;
  uint16_t name;
  uint16_t library;
};

struct Known {
  char path[kLongestPath];
  uint64_t base;
  const ElfW(Dyn)* dynamic;
  uint64_t relro_low, relro_high;
  uint64_t low, high;
  bool walked;
  bool here;
};

Name names[kMostNames];
uint32_t name_count = 0;
Known libraries[kMostLibraries];
uint32_t library_count = 0;
Slot slots[kMostSlots];
std::atomic<uint32_t> slot_count{0};
LoaderCounts counts_seen;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const link_map* own_map() {
  static const link_map* map = nullptr;
  Dl_info info;
  link_map* found = nullptr;
  if (!map && dladdr1(reinterpret_cast<void*>(&own_map), &info, reinterpret_cast<void**>(&found), RTLD_DL_LINKMAP)) {
    map = found;
  }
  return map;
}

struct Tables {
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  const ElfW(Rela)* plt = nullptr;
  const ElfW(Rela)* others = nullptr;
  uint64_t plt_bytes = 0, others_bytes = 0;
  const uint32_t* gnu_hash = nullptr;
};

Tables read_tables(uint64_t base, const ElfW(Dyn)* dynamic) {
  Tables tables;
  // glibc puts addresses into the section in place.
  const auto at = [base](uint64_t value) { return value < base ? base + value : value; };
  for (const ElfW(Dyn)* one = dynamic; one && one->d_tag != DT_NULL; one++) {
    switch (one->d_tag) {
      case DT_SYMTAB: tables.symbols = reinterpret_cast<const ElfW(Sym)*>(at(one->d_un.d_ptr)); break;
      case DT_STRTAB: tables.strings = reinterpret_cast<const char*>(at(one->d_un.d_ptr)); break;
      case DT_JMPREL: tables.plt = reinterpret_cast<const ElfW(Rela)*>(at(one->d_un.d_ptr)); break;
      case DT_PLTRELSZ: tables.plt_bytes = one->d_un.d_val; break;
      case DT_RELA: tables.others = reinterpret_cast<const ElfW(Rela)*>(at(one->d_un.d_ptr)); break;
      case DT_RELASZ: tables.others_bytes = one->d_un.d_val; break;
      case DT_GNU_HASH: tables.gnu_hash = reinterpret_cast<const uint32_t*>(at(one->d_un.d_ptr)); break;
      default: break;
    }
  }
  return tables;
}

// Everything that the agent exports and is none of its own interface. From its own table of symbols: no second list.
void collect_names() {
  const link_map* map = own_map();
  if (name_count || !map) return;
  const Tables tables = read_tables(map->l_addr, map->l_ld);
  if (!tables.symbols || !tables.strings || !tables.gnu_hash) return;
  const uint32_t buckets = tables.gnu_hash[0], first = tables.gnu_hash[1], words = tables.gnu_hash[2];
  const uint32_t* bucket = tables.gnu_hash + 4 + 2 * words;
  const uint32_t* chain = bucket + buckets;
  for (uint32_t b = 0; b < buckets; b++) {
    for (uint32_t i = bucket[b]; i >= first && i; i++) {
      const ElfW(Sym)& symbol = tables.symbols[i];
      const char* text = tables.strings + symbol.st_name;
      const bool own = !std::strncmp(text, "sonde_", 6) || !std::strncmp(text, "__start_", 8) || !std::strncmp(text, "__stop_", 7);
      if (!own && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF && name_count < kMostNames) {
        names[name_count++] = {text, reinterpret_cast<void*>(map->l_addr + symbol.st_value), dlsym(RTLD_NEXT, text)};
      }
      if (chain[i - first] & 1) break;
    }
  }
}

int name_index(const char* text) {
  for (uint32_t i = 0; i < name_count; i++) {
    if (!std::strcmp(names[i].text, text)) return static_cast<int>(i);
  }
  return -1;
}

// libc and the loader call themselves without slots; what they have are for others.
bool is_left_alone(const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash ? slash + 1 : path;
  for (const char* start : {"ld-linux", "libc.so", "libc-", "libpthread", "libdl", "linux-vdso", "libsonde_"}) {
    if (!std::strncmp(name, start, std::strlen(start))) return true;
  }
  return false;
}

int note_library(dl_phdr_info* info, size_t, void*) {
  const char* path = info->dlpi_name ? info->dlpi_name : "";
  if (std::strlen(path) >= kLongestPath || is_left_alone(path)) return 0;
  Known now = {};
  std::strcpy(now.path, path);
  now.base = info->dlpi_addr;
  now.low = ~uint64_t{0};
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const auto& segment = info->dlpi_phdr[i];
    const uint64_t start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) now.dynamic = reinterpret_cast<const ElfW(Dyn)*>(start);
    if (segment.p_type == PT_GNU_RELRO) now.relro_low = start, now.relro_high = start + segment.p_memsz;
    if (segment.p_type != PT_LOAD) continue;
    if (start < now.low) now.low = start;
    if (start + segment.p_memsz > now.high) now.high = start + segment.p_memsz;
  }
  if (!now.dynamic) return 0;
  for (uint32_t i = 0; i < library_count; i++) {
    if (libraries[i].base == now.base && !std::strcmp(libraries[i].path, path)) {
      libraries[i].here = true;
      return 0;
    }
  }
  now.here = true;
  if (library_count < kMostLibraries) libraries[library_count++] = now;
  return 0;
}

// Keeps the library while its slots are looked at.
class Held {
 public:
  explicit Held(const Known& library)
      : handle_(dlopen(library.path[0] ? library.path : nullptr, RTLD_LAZY | RTLD_NOLOAD)) {
    link_map* map = nullptr;
    same_ = handle_ && dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_addr == library.base &&
            map->l_ld == library.dynamic;
  }
  ~Held() {
    if (handle_) dlclose(handle_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  bool is_same() const { return same_; }
  void* handle() const { return handle_; }

 private:
  void* handle_;
  bool same_ = false;
};

// One store, which others see whole. Pages that the loader made read-only are so again afterwards.
bool store(const Known& library, uint64_t* at, uint64_t value) {
  const uint64_t address = reinterpret_cast<uint64_t>(at), page = page_bytes();
  const bool sealed = address >= (library.relro_low & ~(page - 1)) && address < (library.relro_high & ~(page - 1));
  void* start = reinterpret_cast<void*>(address & ~(page - 1));
  if (sealed && mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
  if (sealed) mprotect(start, page, PROT_READ);
  return true;
}

// What the loader would have bound: the program's global scope first, then the library's own.
void* resolved(const Name& name, void* handle) {
  void* found = dlsym(RTLD_DEFAULT, name.text);
  return found && found != name.ours ? found : dlsym(handle, name.text);
}

void patch_one(uint32_t library_index, void* handle, const Tables& tables, const ElfW(Rela)& relocation) {
  const auto type = ELF64_R_TYPE(relocation.r_info);
  if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) return;
  const auto symbol = ELF64_R_SYM(relocation.r_info);
  if (symbol == 0) return;
  const int index = name_index(tables.strings + tables.symbols[symbol].st_name);
  if (index < 0) return;
  const Known& library = libraries[library_index];
  const Name& name = names[index];
  // In data: tables of virtual functions, for torch's. A pointer to a function of libc there is the program's to compare.
  if (type == R_X86_64_64 && (relocation.r_addend != 0 || name.behind)) return;
  auto* at = reinterpret_cast<uint64_t*>(library.base + relocation.r_offset);
  if (reinterpret_cast<uint64_t>(at) % 8) return;  // could be seen half written
  uint64_t held = __atomic_load_n(at, __ATOMIC_RELAXED);
  const auto ours = reinterpret_cast<uint64_t>(name.ours);
  if (held == 0 || held == ours) return;
  // Perhaps not bound yet: then the slot leads to the library's own code that binds it.
  if (type == R_X86_64_JUMP_SLOT && held >= library.low && held < library.high) {
    held = reinterpret_cast<uint64_t>(resolved(name, handle));
  }
  if (held == 0 || held == ours || (name.behind && held != reinterpret_cast<uint64_t>(name.behind))) return;
  const uint32_t count = slot_count.load(std::memory_order_relaxed);
  if (count == kMostSlots) return;
  slots[count] = {at, held, static_cast<uint16_t>(index), static_cast<uint16_t>(library_index)};
  slot_count.store(count + 1, std::memory_order_release);  // first: whoever comes by the slot asks for what was there
  store(library, at, ours);
}

void walk_library(uint32_t index) {
  Known& library = libraries[index];
  if (library.walked || !library.here) return;
  library.walked = true;
  const Held held(library);
  if (!held.is_same()) return;
  const Tables tables = read_tables(library.base, library.dynamic);
  if (!tables.symbols || !tables.strings) return;
  for (uint64_t i = 0; i < tables.plt_bytes / sizeof(ElfW(Rela)); i++) patch_one(index, held.handle(), tables, tables.plt[i]);
  for (uint64_t i = 0; i < tables.others_bytes / sizeof(ElfW(Rela)); i++) {
    patch_one(index, held.handle(), tables, tables.others[i]);
  }
}

}  // namespace

uint32_t patch_slots() {
  pthread_mutex_lock(&lock);
  const LoaderCounts now = loader_counts();
  if (library_count == 0) slot_count.store(0, std::memory_order_release);  // the first walk of this visit
  const uint32_t before = slot_count.load(std::memory_order_relaxed);
  if (!(now == counts_seen) || before == 0) {
    counts_seen = now;
    collect_names();
    for (uint32_t i = 0; i < library_count; i++) libraries[i].here = false;
    dl_iterate_phdr(note_library, nullptr);
    for (uint32_t i = 0; i < library_count; i++) {
      if (!libraries[i].here) libraries[i].walked = false;  // unloaded: its slots are gone with it
      walk_library(i);
    }
  }
  const uint32_t changed = slot_count.load(std::memory_order_relaxed) - before;
  pthread_mutex_unlock(&lock);
  return changed;
}

uint32_t unpatch_slots() {
  pthread_mutex_lock(&lock);
  uint32_t left = 0;
  const uint32_t count = slot_count.load(std::memory_order_relaxed);
  for (uint32_t index = 0; index < library_count; index++) {
    const Held held(libraries[index]);
    for (uint32_t i = 0; held.is_same() && i < count; i++) {
      const Slot& slot = slots[i];
      if (slot.library != index) continue;
      const auto ours = reinterpret_cast<uint64_t>(names[slot.name].ours);
      if (__atomic_load_n(slot.at, __ATOMIC_RELAXED) != ours) continue;  // somebody else has it now
      if (!store(libraries[index], slot.at, slot.original)) left++;
    }
  }
  // What the slots held stays known: a call that is under way still asks for it. The next walk begins anew.
  library_count = 0;
  counts_seen = {};
  pthread_mutex_unlock(&lock);
  return left;
}

uint32_t patched_slots() { return slot_count.load(std::memory_order_acquire); }

void* slot_original(const char* name, const void* caller) {
  const auto pc = reinterpret_cast<uint64_t>(caller);
  uint64_t any = 0;
  const uint32_t count = slot_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; i++) {
    if (std::strcmp(names[slots[i].name].text, name)) continue;
    const Known& library = libraries[slots[i].library];
    if (pc >= library.low && pc < library.high) return reinterpret_cast<void*>(slots[i].original);
    any = slots[i].original;
  }
  return reinterpret_cast<void*>(any);
}

}  // namespace sonde
