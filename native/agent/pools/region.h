// A parallel region in progress: who opened it, and what each thread in it does right now.
//
// The opener puts a Region on its own stack and passes a trampoline to the runtime. Each thread that runs the
// trampoline points at the Region while it does the region's work; the opener cannot leave before. After its
// part a thread only remembers the region's number, because the Region may be gone at any moment.
#pragma once

#include <atomic>
#include <cstdint>

#include "arch/arch.h"
#include "pools/origin.h"
#include "pools/owner.h"

namespace sonde {

struct Region {
  PoolOwner owner;
  const Region* enclosing = nullptr;  // the region whose work the opener was doing
  const Origin* origin = nullptr;     // of the task that the opener was doing, see origin.h
  uint64_t origin_ticket = 0;
  uint64_t number = 0;
  const RegionTrail* trail = nullptr;  // where the opener's Python code stood, for after the end
  void (*work)(void*) = nullptr;      // libgomp
  void* data = nullptr;
  void (*microtask)() = nullptr;      // libomp: called with argument_count pointers
  int argument_count = 0;
  void** arguments = nullptr;
};

// What one thread has to do with regions. Written by the thread, read by its own signal handler.
struct PoolThread {
  std::atomic<const Region*> region{nullptr};  // whose work it runs
  uint64_t anchor = 0;                         // address in the trampoline's frame
  std::atomic<const Region*> last{nullptr};    // whose work it ran last, valid only while last_number is open
  uint64_t last_number = 0;
  const RegionTrail* last_trail = nullptr;     // of that region
  uint64_t opened_number = 0;                  // the region it opened last
  bool worker = false;                         // has run work that another thread opened
};

extern thread_local PoolThread t_pool __attribute__((tls_model("initial-exec")));

// True when the calling thread is known to the agent; else a region is passed on untouched.
bool region_wanted();

// Fills everything but the registers, and makes the region's number an open one.
void open_region(Region* region);
void close_region(const Region& region);
bool is_open(uint64_t number);

// While it lives the calling thread does the region's work. Its address is the thread's anchor.
class InRegion {
 public:
  explicit InRegion(const Region* region);
  ~InRegion();
  InRegion(const InRegion&) = delete;
  InRegion& operator=(const InRegion&) = delete;

 private:
  const Region* const region_;
  const Region* const outer_;
  const uint64_t outer_anchor_;
};

// Entry points that the runtimes call on each thread; their code is where a worker's walk is anchored.
extern "C" void sonde_region_work(void* region);
extern "C" void sonde_region_microtask(int* global_thread, int* bound_thread, void* region);

}  // namespace sonde
