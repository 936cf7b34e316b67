// What Python's observers call around a window (sonde/record/inside/heap.py).
//
// `sonde_heap_apart(1)` … `(0)`: while the calling thread starts, stops or saves a window, all its blocks come from the own
// arena, and glibc's limits are afterwards what they were.
// `sonde_heap_divert(1)` … `(0)`: while the steps of a window run, `operator new` of torch's libraries does the same for small
// blocks; the profiler notes each tensor that way, and the notes of those that live on stay. So does `malloc` of
// libpython, which makes a table of lines for each code object that is traced and keeps it. Tensors themselves come from
// posix_memalign and are left alone. It is done by the libraries' own tables of imported functions, so outside of
// windows nothing is different.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "heap/own_arena.h"
#include "signals/real.h"

namespace sonde {
namespace {

using Allocate = void* (*)(size_t);

constexpr size_t kLargestBytes = 256u << 10;  // larger ones are data of operators
constexpr int kSlots = 16;

struct Slot {
  void** place;
  void* before;
  void* during;
  bool is_protected;  // the loader made its page read-only
};

constinit Slot slots[kSlots] = {};
constinit int slot_count = 0;
constinit bool searched = false;
constinit Allocate real_new = nullptr;
constinit thread_local bool is_apart __attribute__((tls_model("initial-exec"))) = false;
constinit HeapLimits limits_before = {};

void* from_own_arena(size_t bytes) {
  if (bytes > kLargestBytes) return nullptr;
  enter_own_arena();
  void* const block = malloc(bytes ? bytes : 1);
  leave_own_arena();
  return block;
}

void* diverted_new(size_t bytes) {
  void* const block = from_own_arena(bytes);
  return block ? block : real_new(bytes);  // with its handler and exception
}

void* diverted_malloc(size_t bytes) {
  void* const block = from_own_arena(bytes);
  return block ? block : malloc(bytes);
}

// What is diverted: an import of a library, as long as the usual function of the usual library stands behind it.
// Replaced by the program itself, `delete` may be, too, and would not know a block of malloc's.
struct Import {
  const char *library, *name, *behind;
  Allocate during;
};
constexpr Import kImports[] = {
    {"/libtorch_cpu.so", "_Znwm", "/libstdc++.so", diverted_new}, {"/libtorch_cpu.so", "_Znam", "/libstdc++.so", diverted_new},
    {"/libc10.so", "_Znwm", "/libstdc++.so", diverted_new},       {"/libc10.so", "_Znam", "/libstdc++.so", diverted_new},
    {"/libpython3", "malloc", "/libc.so.6", diverted_malloc},
};

bool lies_in(void* function, const char* library) {
  Dl_info found = {};
  return dladdr(function, &found) && found.dli_fname && std::strstr(found.dli_fname, library);
}

uint64_t page_bytes() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

struct Imports {
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela)* tables[2] = {};  // of calls, of pointers
  size_t bytes[2] = {};
};

Imports imports_of(const ElfW(Dyn)* dynamic) {
  Imports found;
  for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
    const auto value = dynamic->d_un;
    switch (dynamic->d_tag) {
      case DT_JMPREL: found.tables[0] = reinterpret_cast<const ElfW(Rela)*>(value.d_ptr); break;
      case DT_PLTRELSZ: found.bytes[0] = value.d_val; break;
      case DT_RELA: found.tables[1] = reinterpret_cast<const ElfW(Rela)*>(value.d_ptr); break;
      case DT_RELASZ: found.bytes[1] = value.d_val; break;
      case DT_SYMTAB: found.symbols = reinterpret_cast<const ElfW(Sym)*>(value.d_ptr); break;
      case DT_STRTAB: found.names = reinterpret_cast<const char*>(value.d_ptr); break;
      default: break;
    }
  }
  return found;
}

void add_slots(const dl_phdr_info& info, const Imports& imports, const Import& wanted, uint64_t relro, uint64_t relro_end) {
  for (int t = 0; t < 2; t++) {
    for (size_t i = 0; imports.tables[t] && i < imports.bytes[t] / sizeof(ElfW(Rela)) && slot_count < kSlots; i++) {
      const ElfW(Rela)& one = imports.tables[t][i];
      const auto type = ELF64_R_TYPE(one.r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
      if (std::strcmp(imports.names + imports.symbols[ELF64_R_SYM(one.r_info)].st_name, wanted.name)) continue;
      const bool is_protected = one.r_offset >= relro && one.r_offset < relro_end;
      const auto place = reinterpret_cast<void**>(info.dlpi_addr + one.r_offset);
      if (!lies_in(*place, wanted.behind)) continue;  // or not bound yet
      slots[slot_count++] = {place, *place, reinterpret_cast<void*>(wanted.during), is_protected};
      if (wanted.during == diverted_new) real_new = reinterpret_cast<Allocate>(*place);
    }
  }
}

int find_slots(dl_phdr_info* info, size_t, void*) {
  if (!info->dlpi_name) return 0;
  for (const Import& wanted : kImports) {
    if (!std::strstr(info->dlpi_name, wanted.library)) continue;
    uint64_t relro = 0, relro_end = 0;
    const ElfW(Dyn)* dynamic = nullptr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
      const auto& segment = info->dlpi_phdr[i];
      if (segment.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + segment.p_vaddr);
      // The loader protects whole pages only: what lies on the last one stays writable.
      if (segment.p_type == PT_GNU_RELRO) {
        relro = segment.p_vaddr;
        relro_end = (segment.p_vaddr + segment.p_memsz) & ~(page_bytes() - 1);
      }
    }
    const Imports imports = imports_of(dynamic);
    if (imports.symbols && imports.names) add_slots(*info, imports, wanted, relro, relro_end);
  }
  return 0;
}

void put(const Slot& slot, void* function) {
  const auto page = reinterpret_cast<void*>(reinterpret_cast<uint64_t>(slot.place) & ~(page_bytes() - 1));
  if (slot.is_protected && mprotect(page, page_bytes(), PROT_READ | PROT_WRITE)) return;
  __atomic_store_n(slot.place, function, __ATOMIC_RELEASE);
  if (slot.is_protected) mprotect(page, page_bytes(), PROT_READ);
}

}  // namespace
}  // namespace sonde

using namespace sonde;

// 1: there is an arena to keep apart in; 0: the program's allocator is not glibc's, or an unknown one.
SONDE_EXPORT int sonde_heap_prepare() { return ask_for_own_arena(); }

SONDE_EXPORT void sonde_heap_apart(int on) {
  if (is_apart == (on != 0)) return;
  is_apart = on != 0;
  if (on) {
    limits_before = heap_limits();
    enter_own_arena();
  } else {
    leave_own_arena();
    restore_heap_limits(limits_before);
  }
}

SONDE_EXPORT void sonde_heap_divert(int on) {
  if (on && !searched && ask_for_own_arena()) {
    searched = true;
    dl_iterate_phdr(find_slots, nullptr);
  }
  for (int i = 0; i < slot_count; i++) put(slots[i], on ? slots[i].during : slots[i].before);
}
