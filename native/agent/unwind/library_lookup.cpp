// Which library holds an address: glibc's own lock-free index (2.35 and later), else our table of modules.
#include <dlfcn.h>

#include <atomic>

#include "common/find_object.h"
#include "unwind/frame_row.h"
#include "unwind/modules.h"

namespace sonde {
namespace {

std::atomic<FindObject> g_find_object{nullptr};

__attribute__((constructor)) void resolve_find_object() {
  g_find_object.store(reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object")));
}

}  // namespace

bool find_library(uint64_t pc, uint64_t* eh_frame_hdr, uint64_t* map_start, uint64_t* map_end) {
  if (const FindObject find = g_find_object.load(std::memory_order_relaxed)) {
    FoundObject found;
    if (find(reinterpret_cast<void*>(pc), &found) != 0) return false;
    *eh_frame_hdr = reinterpret_cast<uint64_t>(found.eh_frame);
    *map_start = reinterpret_cast<uint64_t>(found.map_start);
    *map_end = reinterpret_cast<uint64_t>(found.map_end);
    return true;
  }
  const Module* module = find_module(pc);
  if (!module) return false;
  *eh_frame_hdr = module->eh_frame_hdr;
  *map_start = module->low;
  *map_end = module->high;
  return true;
}

}  // namespace sonde
