// What Python's observers call around a window (sonde/record/inside/heap.py).
//
// `sonde_heap_apart(1)` … `(0)`: while the calling thread starts, stops or saves a window, all its blocks come from the own
// arena, and glibc's limits are afterwards what they were.
// `sonde_heap_divert(1)` … `(0)`: while the steps of a window run, `operator new` of torch's libraries does the same for small
// blocks; the profiler notes each tensor that way, and the notes of those that live on stay. Tensors themselves come
// from posix_memalign and are left alone. It is done by the libraries' own tables of imported functions, so outside of windows
// nothing is different.
#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <cstring>

#include "heap/own_arena.h"
#include "signals/real.h"

namespace sonde {
namespace {

using New = void* (*)(size_t);

constexpr size_t kLargestBytes = 256u << 10;  // larger ones are data of operators
constexpr const char* kLibraries[] = {"/libtorch_cpu.so", "/libc10.so"};
constexpr const char* kNames[] = {"_Znwm", "_Znam"};
constexpr int kSlots = 8;

struct Slot {
  void** place;
  void* before;
};

constinit Slot slots[kSlots] = {};
constinit int slot_count = 0;
constinit bool searched = false;
constinit New real_new = nullptr;
constinit thread_local bool is_apart __attribute__((tls_model("initial-exec"))) = false;
constinit HeapLimits limits_before = {};

void* diverted_new(size_t bytes) {
  if (bytes <= kLargestBytes) {
    enter_own_arena();
    void* const block = malloc(bytes ? bytes : 1);
    leave_own_arena();
    if (block) return block;
  }
  return real_new(bytes);  // with its handler and exception
}

bool is_one_of(const char* text, const char* const* list, int count, bool as_ending) {
  const size_t length = std::strlen(text);
  for (int i = 0; i < count; i++) {
    const size_t tail = std::strlen(list[i]);
    if (as_ending ? length >= tail && !std::strcmp(text + length - tail, list[i]) : !std::strcmp(text, list[i])) return true;
  }
  return false;
}

// Replaced by the program itself, `delete` may be, too, and would not know a block of malloc's.
bool is_the_usual_new(void* function) {
  Dl_info found = {};
  return dladdr(function, &found) && found.dli_fname && std::strstr(found.dli_fname, "/libstdc++.so");
}

int find_slots(dl_phdr_info* info, size_t, void*) {
  if (!info->dlpi_name || !is_one_of(info->dlpi_name, kLibraries, 2, true)) return 0;
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    }
  }
  const ElfW(Rela)* jumps = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  size_t bytes = 0;
  bool read_only = false;
  for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
    switch (dynamic->d_tag) {
      case DT_JMPREL: jumps = reinterpret_cast<const ElfW(Rela)*>(dynamic->d_un.d_ptr); break;
      case DT_PLTRELSZ: bytes = dynamic->d_un.d_val; break;
      case DT_SYMTAB: symbols = reinterpret_cast<const ElfW(Sym)*>(dynamic->d_un.d_ptr); break;
      case DT_STRTAB: names = reinterpret_cast<const char*>(dynamic->d_un.d_ptr); break;
      case DT_BIND_NOW: read_only = true; break;
      case DT_FLAGS: read_only |= (dynamic->d_un.d_val & DF_BIND_NOW) != 0; break;
      case DT_FLAGS_1: read_only |= (dynamic->d_un.d_val & DF_1_NOW) != 0; break;
      default: break;
    }
  }
  if (!jumps || !symbols || !names || read_only) return 0;
  for (size_t i = 0; i < bytes / sizeof *jumps && slot_count < kSlots; i++) {
    if (!is_one_of(names + symbols[ELF64_R_SYM(jumps[i].r_info)].st_name, kNames, 2, false)) continue;
    const auto place = reinterpret_cast<void**>(info->dlpi_addr + jumps[i].r_offset);
    if (is_the_usual_new(*place)) slots[slot_count++] = {place, *place};
  }
  return 0;
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
    if (slot_count) real_new = reinterpret_cast<New>(slots[0].before);
  }
  for (int i = 0; i < slot_count; i++) {
    void* const wanted = on ? reinterpret_cast<void*>(diverted_new) : slots[i].before;
    __atomic_store_n(slots[i].place, wanted, __ATOMIC_RELEASE);
  }
}
