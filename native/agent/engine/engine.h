// What makes a thread's clock tick. One engine is chosen for the process; a thread may get
// the timer instead when descriptors are scarce. The tick arrives as SIGPROF on the thread itself.
//
//   timer+kernel CPU-clock timer, whose ticks share the interrupt of the kernel's own; perf writes down
//                the kernel's stacks at the same moments: the cheapest, up to half of CONFIG_HZ. Perf alone until the
//                thread has a descriptor (perf_event.h)
//   perf+kernel  perf cpu-clock, kernel time included: exact ticks at any rate
//   perf+timer   perf cpu-clock without kernel time (all that an unprivileged process gets), plus a
//                CPU-clock timer whose ticks stand for the kernel time that perf drops
//   timer        CPU-clock timer alone: works everywhere; at most CONFIG_HZ ticks per second (250)
#pragma once

#include <signal.h>

#include <cstdint>

#include "core/options.h"
#include "threads/thread.h"

namespace sonde {

enum class Tick : uint8_t { Foreign, Perf, Timer, Unclear };

class Engine {
 public:
  virtual const char* name() const = 0;
  // On the thread itself, not async-signal-safe. False: nothing is armed.
  virtual bool arm(Thread* thread, uint32_t rate_hz) = 0;
  virtual void disarm(Thread* thread) = 0;
  // From any thread: stops the clock, or starts it again.
  virtual void pause(Thread* thread, bool paused) = 0;

  // Async-signal-safe, in the handler of the thread. The CPU time that this tick stands for; 0: no
  // sample. `cpu_ns` is the thread's CPU clock now.
  virtual uint64_t weigh(Thread* thread, Tick tick, uint64_t cpu_ns, const void* context) = 0;
  // Async-signal-safe. The next tick comes after so much CPU time, and then every so much.
  virtual void set_period(Thread* thread, uint64_t period_ns) = 0;
  // Async-signal-safe. Perf has ticked without a descriptor, by which its clock could be set: when is the next tick?
  virtual void draw_next(Thread* /*thread*/, uint32_t /*rate_hz*/) {}
  // Async-signal-safe. It has run without a descriptor for long enough (engine/perf_event.h).
  virtual void settle(Thread* /*thread*/, uint32_t /*rate_hz*/) {}
  // Async-signal-safe. Was the kernel's stack that perf noted at `noted_ns` taken in the stay in the kernel that the tick
  // at `time_ns` came out of, to `pc`?
  virtual bool is_of_this_stay(const Thread* /*thread*/, uint64_t /*noted_ns*/, uint64_t /*time_ns*/, uint64_t /*pc*/) { return true; }

 protected:
  ~Engine() = default;
};

// Not async-signal-safe. Tries engines in order of preference on the calling thread.
Engine* choose_engine(const Options& options);

Engine* timer_kernel_engine();
Engine* perf_kernel_engine();
Engine* perf_timer_engine();
Engine* timer_engine();

// On the thread itself. Arms the process's engine or the best that still works; counts a loss if none.
void arm_current(Thread* thread);
void disarm_current(Thread* thread);
// In the child of a fork: closes what was inherited and stands for the parent's threads.
void forget_engine(Thread* thread);

// Async-signal-safe. Whose tick is this?
Tick classify_tick(const siginfo_t* info);

// Async-signal-safe. xorshift64*.
uint64_t next_random(uint64_t* state);

}  // namespace sonde
