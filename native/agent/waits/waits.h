// Off-CPU time with stacks. The background thread looks at each thread ten times a second, twice while all of
// them either compute or stay where they were:
//   blocked time = wall time - CPU time - time in the run queue, exact by the kernel's clocks;
//   where: the stack of the thread at the looks that found it blocked, walked from (pc, sp).
// Time that passed while the thread was caught running waits for the next blocked look, so sums
// are exact and only the place is sampled; a long wait between two rare looks, which none saw, has no place.
// A thread that hardly left the CPU is not asked where it is but once a second (the kernel's answers cost
// 1 to 5 us each): its clocks alone tell. Time in the run queue is its own reason (Preempted), a piece per look, and
// much of it makes the looks frequent, though not the passes.
// Nothing is sent to the thread: no signal, no EINTR. Background thread only.
#pragma once

#include <cstdint>

#include "background/stacks.h"
#include "threads/thread.h"
#include "waits/blocked.h"

namespace sonde {

// What a look found, the greater the more: Queue asks for another look soon, Place for a whole pass.
enum class News : uint8_t { None, Queue, Place };

class WaitRecorder {
 public:
  constexpr WaitRecorder(log::Writer* log, StackWriter* stacks) : log_(log), stacks_(stacks) {}

  // At all threads, if the last look is long enough ago. Place: one was found waiting at a new one.
  News look(uint64_t now_ns);
  void end_of(Thread* thread, uint64_t end_ns, uint64_t cpu_ns);  // writes what is pending
  void before_new_epoch();                         // node ids become void after it
  void begin_session();                            // they have: places are looked up again
  // The thread's time so far is in an earlier log, or nobody's: its waits count from now on.
  static void begin_account(Thread* thread, uint64_t now_ns);
  void reset();

 private:
  // True: blocked, and not where the last look found it.
  bool look_at(Thread* thread, uint64_t now_ns, const Blocked& blocked);
  // Blocked time since the last look; `queued_ns`: of the run queue.
  uint64_t account(Thread* thread, uint64_t now_ns, uint64_t cpu_ns, const Blocked& blocked, uint64_t* queued_ns);
  void write_queued(Thread* thread, uint64_t now_ns, uint64_t look_ns, uint64_t queued_ns);
  void* python_state_of(Thread* thread);
  bool snapshot(Thread* thread, const Blocked& blocked);
  void write(Thread* thread, uint64_t since_ns, log::WaitReason reason, uint64_t weight_ns, bool with_stack);
  void flush(Thread* thread);

  log::Writer* log_;
  StackWriter* stacks_;
  RuleCache* rules_ = nullptr;
  uint64_t last_look_ns_ = 0;
  uint32_t next_slot_ = 0;
  void* some_python_state_ = nullptr;
};

}  // namespace sonde
