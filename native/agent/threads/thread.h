// Everything the agent knows about one thread of the program. Lives in its own mapping, is
// recycled, never freed while a handler may run on the thread.
#pragma once

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "common/histogram.h"
#include "core/options.h"
#include "log/format.h"
#include "pools/owner.h"
#include "pools/trail.h"
#include "python/frames.h"
#include "sample/ring.h"
#include "signals/alternate_stack.h"
#include "threads/current.h"
#include "unwind/unwind.h"

namespace sonde {

class Engine;

// What the background thread knows about a thread's current wait (waits/waits.h).
struct WaitState {
  bool blocked = false;      // the last look found it blocked, at (pc, sp)
  uint64_t pc = 0, sp = 0;
  log::WaitReason reason = log::WaitReason::None;
  uint64_t since_ns = 0;     // start of what is pending
  uint64_t looked_ns = 0;    // last look; 0: never
  uint64_t cpu_ns = 0, delay_ns = 0;            // the thread's clocks at that look
  uint64_t pending_ns = 0, queued_ns = 0;       // blocked and preempted time not yet written
  uint64_t queued_since_ns = 0;                 // start of the look that the preempted time begins with
  uint64_t unsettled_ns = 0;                    // off the CPU, and the run queue's share is not known yet
  bool unsettled_is_rare = false;               // it passed between two rare looks
  uint32_t node = 0, python_node = 0;
  uint64_t epoch = 0;
  uint8_t walk_end = 0, anchor = 0;
  bool without_interpreter = false;  // when the stack was read, no interpreter state was known yet
};

// Whose thread-local variables a thread finds at its thread pointer (threads/adopt.h).
enum class ThreadVariables : uint8_t { Own, Borrowed, None, Unknown };

enum class Phase : uint32_t { Free, Starting, Live, Ended };

struct Thread {
  std::atomic<Phase> phase{Phase::Free};
  std::atomic<uint64_t> in_handler{0};  // where the stack of the handler at work begins; 0: none is
  uint32_t number = kNoThread;
  uint32_t slot = 0;  // index in the registry
  int tid = 0;
  uint64_t pthread = 0;
  log::ThreadKind kind = log::ThreadKind::Ordinary;
  StackBounds stack;
  AlternateStack alternate;           // for signal handlers; belongs to the slot
  uint64_t start_ns = 0, end_ns = 0;
  uint64_t end_cpu_ns = 0;

  void* (*routine)(void*) = nullptr;  // what pthread_create was given
  void* argument = nullptr;
  bool belief = false;                // creator's belief about the signal mask
  uint8_t destructor_rounds = 0;

  int put_off = 0;                    // a signal for the program that waits for the handler's end
  siginfo_t put_off_info = {};
  bool adopted = false;               // found, not started through us
  std::atomic<ThreadVariables> variables{ThreadVariables::Own};
  bool awaits_stack = false;          // not armed before it has an alternate stack (attach/visit.h)
  std::atomic<uint64_t> seen_sp{0};   // of an adopted one's first tick: tells where its stack lies
  uint64_t unseen_cpu_ns = 0;         // used before it was found, not yet in the log

  Engine* engine = nullptr;
  int perf_fd = -1;
  uint64_t perf_id = 0;               // of the event: tells whether perf_fd is still its descriptor
  void* kernel_ring = nullptr;        // of the perf event: stacks of ticks inside the kernel
  uint64_t settles_at_ns = 0;         // CPU time at which the perf event gets a descriptor; 0: it has one, or there is none
  timer_t timer = {};
  bool has_timer = false;
  uint64_t period_ns = 0;             // of its clock, as last set
  uint64_t random = 0;                // state of what it draws

  // CPU time of the thread that samples so far stand for. Written by the thread's own handler
  // and by its end; read by the background thread after the end.
  std::atomic<uint64_t> accounted_ns{0};
  uint64_t faults_seen = 0;           // page faults when last asked
  uint8_t kernel_watch = 0;           // ticks for which perf still looks into the kernel
  Histogram handler_times, walk_times;  // ns; written by the handler, read at the end
  std::atomic<void*> python_state{nullptr};  // as last seen by the handler
  std::atomic<uint64_t> samples{0}, handler_ns{0};

  RuleCache* rules = nullptr;
  uint64_t kernel[kMaxKernelFrames];  // scratch, as the following
  NativeFrame* native = nullptr;      // scratch: the handler must not need much stack
  NativeFrame* owner_native = nullptr;
  PythonFrame* python = nullptr;
  PoolOwner pool_owner;               // scratch: of the region that it works in
  Ring ring;
  RegionTrail trail[2];               // of the parallel regions that it opened last, in turn
  uint32_t trails = 0;                // how many it has left
  RegionTrail trail_read;             // scratch: of the one that it served last

  // Background thread only.
  uint32_t announced_in = 0;  // session of the log that knows the thread; 0: none yet
  char name[16] = {};
  WaitState wait;
};

}  // namespace sonde
