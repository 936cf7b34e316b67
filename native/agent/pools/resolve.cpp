#include "pools/resolve.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/slots.h"
#include "common/find_object.h"

namespace sonde {
namespace {

FindObject g_find_object = nullptr;
__attribute__((constructor)) void resolve_find_object() {
  g_find_object = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
}

// Is it the agent's own stand-in? The main program's scope has us in front.
bool is_ours(void* function) {
  Dl_info there, here;
  return dladdr(function, &there) && dladdr(reinterpret_cast<void*>(&is_ours), &here) &&
         there.dli_fbase == here.dli_fbase;
}

struct Search {
  const char* name;
  void* found;
};

int look_in(dl_phdr_info* info, size_t, void* opaque) {
  auto* search = static_cast<Search*>(opaque);
  void* handle = info->dlpi_name && info->dlpi_name[0] ? dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (!handle) return 0;
  void* found = dlsym(handle, search->name);
  dlclose(handle);
  if (found && !is_ours(found)) search->found = found;
  return search->found != nullptr;
}

}  // namespace

void* RealFunction::must_find(void* return_address) {
  if (void* found = for_caller(return_address)) return found;
  Search search = {name_, nullptr};
  dl_iterate_phdr(look_in, &search);
  if (search.found) return search.found;
  // Nobody can call what no library defines: the loader would not have bound the call.
  constexpr char kWhy[] = "sonde: a function of torch that was called is in no library\n";
  if (write(2, kWhy, sizeof kWhy - 1) < 0) abort();
  abort();
}

void* RealFunction::resolve(void* return_address) {
  // The agent came late: what the caller's own table held is the answer.
  if (void* original = slot_original(name_, return_address)) return original;
  // What the program's global scope has behind us (a preloaded runtime) comes first, as it would for the loader.
  if (void* next = dlsym(RTLD_NEXT, name_)) return next;
  Dl_info info;
  link_map* map = nullptr;
  if (!dladdr1(return_address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) || !map) return nullptr;
  void* handle = dlopen(map->l_name[0] ? map->l_name : nullptr, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return nullptr;
  void* found = dlsym(handle, name_);
  dlclose(handle);  // undoes the count of dlopen; the caller's own keeps the library
  return found && is_ours(found) ? nullptr : found;
}

void* RealFunction::for_caller(void* return_address) {
  FoundObject object = {};
  if (!g_find_object || g_find_object(return_address, &object) != 0) return resolve(return_address);
  const unsigned count = __atomic_load_n(&count_, __ATOMIC_ACQUIRE);
  for (unsigned i = 0; i < count; ++i) {
    if (known_[i].library == object.link_map && known_[i].start == object.map_start) return known_[i].function;
  }
  void* function = resolve(return_address);
  // One writer at a time; whoever comes second resolves again next time.
  if (function && count < kMostLibraries && !__atomic_exchange_n(&claimed_, 1, __ATOMIC_ACQUIRE)) {
    const unsigned at = __atomic_load_n(&count_, __ATOMIC_RELAXED);
    if (at < kMostLibraries) {
      known_[at] = {object.link_map, object.map_start, function};
      __atomic_store_n(&count_, at + 1, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&claimed_, 0, __ATOMIC_RELEASE);
  }
  return function;
}

}  // namespace sonde
