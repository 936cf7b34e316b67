#include "pools/graph_task.h"

#include <atomic>

#include "pools/region.h"
#include "pools/resolve.h"
#include "pools/restores.h"
#include "steps/phases.h"

namespace sonde {
namespace {

constexpr unsigned kMostGraphs = 512;  // 6 KiB each, touched when used
constexpr unsigned kWays = 8;          // places that a task may have, by its address

// A backward pass. Its origin is a copy, so it may outlive the pass: the oldest of its places is used again, and a
// number tells whether one still means the same.
struct OpenGraph {
  bool known = false;          // origin is filled
  unsigned outer = 0;          // place of what its caller was evaluating (backward inside backward), and its number
  uint64_t outer_number = 0;
  Origin origin;
};

// Plain zeroes, so that nothing is touched at the start: an array of them would be filled in by a constructor, 3 MiB in
// every process. A place is read only after open_graph has filled it.
alignas(64) constinit unsigned char g_graph_bytes[kMostGraphs * sizeof(OpenGraph)] = {};
OpenGraph& graph_at(unsigned place) { return reinterpret_cast<OpenGraph*>(g_graph_bytes)[place]; }
// Apart from the rest, because they are searched: 0 free, 1 being filled, else a count times kMostGraphs plus the place.
alignas(64) std::atomic<uint64_t> g_numbers[kMostGraphs];
alignas(64) std::atomic<const void*> g_tasks[kMostGraphs];
std::atomic<uint64_t> g_next_count{1};
// Most programs never have another thread evaluate a node; only when one did is the caller's stack worth taking
// (about 15 us for each backward).
std::atomic<bool> g_workers_seen{false};

thread_local const void* t_task __attribute__((tls_model("initial-exec"))) = nullptr;      // evaluated last
thread_local const void* t_own_task __attribute__((tls_model("initial-exec"))) = nullptr;  // backward called here

// The first of the task's places: a cache line of numbers and one of tasks.
unsigned first_place(const void* task) {
  const uint64_t mixed = reinterpret_cast<uint64_t>(task) * 0x9E3779B97F4A7C15u;
  return static_cast<unsigned>(mixed >> 32) % (kMostGraphs / kWays) * kWays;
}

// Place and number of a task, kMostGraphs when it is not open.
unsigned find_graph(const void* task, uint64_t* number) {
  const unsigned first = first_place(task);
  for (unsigned i = first; task && i < first + kWays; i++) {
    *number = g_numbers[i].load(std::memory_order_acquire);
    if (*number > 1 && g_tasks[i].load(std::memory_order_relaxed) == task) return i;
  }
  *number = 0;
  return kMostGraphs;
}

// A place that nobody else fills: that of a finished task at the same address, else the oldest one.
unsigned take_place(const void* task) {
  const unsigned first = first_place(task);
  for (unsigned attempt = 0; attempt < kWays; attempt++) {
    unsigned chosen = kMostGraphs;
    uint64_t lowest = UINT64_MAX;
    for (unsigned i = first; i < first + kWays; i++) {
      uint64_t number = g_numbers[i].load(std::memory_order_relaxed);
      if (number == 1) continue;
      if (g_tasks[i].load(std::memory_order_relaxed) == task) number = 0;
      if (number < lowest) lowest = number, chosen = i;
    }
    if (chosen == kMostGraphs) break;
    uint64_t seen = g_numbers[chosen].load(std::memory_order_relaxed);
    if (seen != 1 && g_numbers[chosen].compare_exchange_strong(seen, 1, std::memory_order_acq_rel)) return chosen;
  }
  return kMostGraphs;
}

void open_graph(const void* task, const Registers& registers) {
  if (current_thread_number() == kNoThread) return;
  uint64_t outer_number = 0;
  const unsigned outer = find_graph(t_task, &outer_number);
  const unsigned place = take_place(task);
  if (place == kMostGraphs) return;
  OpenGraph& graph = graph_at(place);
  graph.outer = outer;
  graph.outer_number = outer_number;
  graph.known = g_workers_seen.load(std::memory_order_relaxed) && capture_origin(registers, &graph.origin);
  graph.origin.thread = current_thread_number();
  g_tasks[place].store(task, std::memory_order_relaxed);
  const uint64_t count = g_next_count.fetch_add(1, std::memory_order_relaxed);
  g_numbers[place].store(count * kMostGraphs + place, std::memory_order_release);
}

using Execute = void* (*)(void* result, void* engine, const void* const* task, void* root, void* inputs);
using Evaluate = void (*)(void* engine, const void* const* task, void* node, void* inputs, void* queue);

// Kept noinline and not a tail call: its frame is where the origin's walk starts.
__attribute__((noinline)) void* execute(Execute real, void* result, void* engine, const void* const* task,
                                        void* root, void* inputs) {
  SONDE_RESTORES_WHEN_UNWOUND;
  Restores afterwards(&t_own_task, t_own_task, &t_task, t_task);
  Registers registers;
  SONDE_CAPTURE_REGISTERS(registers);
  open_graph(*task, registers);
  const BackwardPass pass(t_own_task == nullptr && t_task == nullptr);
  t_own_task = *task;
  return real(result, engine, task, root, inputs);
}

// On a worker, which forgets the task afterwards: while it idles, another task may come to lie at the same address.
__attribute__((noinline)) void evaluate_for_another(Evaluate real, void* engine, const void* const* task, void* node,
                                                    void* inputs, void* queue) {
  SONDE_RESTORES_WHEN_UNWOUND;
  Restores afterwards(&t_task, nullptr);
  if (!g_workers_seen.load(std::memory_order_relaxed)) g_workers_seen.store(true, std::memory_order_relaxed);
  real(engine, task, node, inputs, queue);
}

}  // namespace

const Origin* graph_origin(uint64_t* ticket) {
  const void* task = t_task;
  if (task == nullptr || !g_workers_seen.load(std::memory_order_relaxed)) return nullptr;
  const uint32_t self = current_thread_number();
  unsigned place = find_graph(task, ticket);
  // Backward inside backward on one thread: whom the outermost of these passes was evaluated for is asked.
  for (unsigned depth = 0; place < kMostGraphs && graph_at(place).origin.thread == self; depth++) {
    *ticket = graph_at(place).outer_number;
    place = graph_at(place).outer;
    if (depth == kMostGraphs || place == kMostGraphs) return nullptr;
    if (g_numbers[place].load(std::memory_order_acquire) != *ticket) return nullptr;
  }
  return place < kMostGraphs && graph_at(place).known ? &graph_at(place).origin : nullptr;
}

bool graph_is_open(uint64_t ticket) {
  return g_numbers[ticket % kMostGraphs].load(std::memory_order_acquire) == ticket;
}

void graphs_after_fork() {
  for (auto& number : g_numbers) number.store(0, std::memory_order_relaxed);
}

}  // namespace sonde

// Both signatures of torch: nodes were shared_ptr up to 2.12 and are intrusive_ptr since. Passed by address either way.
#define SONDE_EXECUTE(function, symbol)                                                                    \
  extern "C" __attribute__((visibility("default"), noinline)) void* function(                              \
      void* result, void* engine, const void* const* task, void* root, void* inputs) asm(symbol);          \
  extern "C" void* function(void* result, void* engine, const void* const* task, void* root, void* inputs) { \
    static constinit sonde::RealFunction real_function{symbol};                                            \
    const auto real =                                                                                      \
        reinterpret_cast<sonde::Execute>(real_function.must_find(__builtin_return_address(0)));           \
    return sonde::execute(real, result, engine, task, root, inputs);                                       \
  }

SONDE_EXECUTE(sonde_execute_intrusive,
              "_ZN5torch8autograd6Engine23execute_with_graph_taskERKSt10shared_ptrINS0_9GraphTaskEE"
              "N3c1013intrusive_ptrINS0_4NodeENS7_6detail34intrusive_target_default_null_typeIS9_EEEE"
              "ONS0_11InputBufferE")
SONDE_EXECUTE(sonde_execute_shared,
              "_ZN5torch8autograd6Engine23execute_with_graph_taskERKSt10shared_ptrINS0_9GraphTaskEE"
              "S2_INS0_4NodeEEONS0_11InputBufferE")

#define SONDE_EVALUATE                                                                                    \
  "_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeERNS0_"          \
  "11InputBufferERKS2_INS0_10ReadyQueueEE"
extern "C" __attribute__((visibility("default"))) void sonde_evaluate(void* engine, const void* const* task, void* node,
                                                                      void* inputs, void* queue) asm(SONDE_EVALUATE);
// Called for every node: a few nanoseconds, and no frame of ours on the thread that called backward.
extern "C" void sonde_evaluate(void* engine, const void* const* task, void* node, void* inputs, void* queue) {
  static std::atomic<sonde::Evaluate> known{nullptr};
  sonde::Evaluate real = known.load(std::memory_order_relaxed);
  if (!real) {
    static constinit sonde::RealFunction real_function{SONDE_EVALUATE};
    real = reinterpret_cast<sonde::Evaluate>(real_function.must_find(__builtin_return_address(0)));
    known.store(real, std::memory_order_relaxed);
  }
  sonde::t_task = *task;
  if (*task != sonde::t_own_task) {
    sonde::evaluate_for_another(real, engine, task, node, inputs, queue);
    return;
  }
  real(engine, task, node, inputs, queue);
}
