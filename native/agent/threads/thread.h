// Everything the agent knows about one thread of the program. Lives in its own mapping, is
// recycled, never freed while a handler may run on the thread.
#pragma once

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "log/format.h"
#include "python/frames.h"
#include "sample/ring.h"
#include "threads/current.h"
#include "unwind/unwind.h"

namespace sonde {

class Engine;

enum class Phase : uint32_t { Free, Starting, Live, Ended };

struct Thread {
  std::atomic<Phase> phase{Phase::Free};
  std::atomic<bool> in_handler{false};
  uint32_t number = kNoThread;
  uint32_t slot = 0;  // index in the registry
  int tid = 0;
  log::ThreadKind kind = log::ThreadKind::Ordinary;
  StackBounds stack;
  uint64_t start_ns = 0, end_ns = 0;
  uint64_t end_cpu_ns = 0;

  void* (*routine)(void*) = nullptr;  // what pthread_create was given
  void* argument = nullptr;
  bool belief = false;                // creator's belief about the signal mask
  uint8_t destructor_rounds = 0;

  Engine* engine = nullptr;
  int perf_fd = -1;
  timer_t timer = {};
  bool has_timer = false;
  uint64_t period_ns = 0;             // of the perf event, as last set
  uint64_t random = 0;                // state of the jitter

  // CPU time of the thread that samples so far stand for. Written by the thread's own handler
  // and by its end; read by the background thread after the end.
  std::atomic<uint64_t> accounted_ns{0};
  uint64_t faults_seen = 0;           // page faults at the last timer tick
  std::atomic<uint64_t> samples{0}, handler_ns{0};

  RuleCache* rules = nullptr;
  NativeFrame* native = nullptr;      // scratch: the handler must not need much stack
  NativeFrame* owner_native = nullptr;
  PythonFrame* python = nullptr;
  Ring ring;

  // Background thread only.
  bool announced = false;
  uint64_t announced_generation = 0;
  char name[16] = {};
  uint64_t wait_pc = 0, wait_sp = 0, wait_since_ns = 0, wait_cpu_ns = 0, wait_checked_ns = 0;
  uint32_t wait_node = 0, wait_python = 0;
};

}  // namespace sonde
