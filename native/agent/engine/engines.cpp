// The engines. Invariant of all: the weights of a thread's samples, plus the residual at its
// end, add up to its CPU clock (perf+timer: within one period).
#include <sys/resource.h>

#include "arch/arch.h"
#include "common/clock.h"
#include "core/agent.h"
#include "engine/cpu_timer.h"
#include "engine/engine.h"
#include "engine/grid.h"
#include "engine/kernel_stack.h"
#include "engine/perf_event.h"
#include "engine/scheduler_tick.h"
#include "engine/shared_rate.h"
#include "process/confined.h"

namespace sonde {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

uint64_t since_last(Thread* thread, uint64_t cpu_ns) {
  uint64_t accounted = thread->accounted_ns.load(std::memory_order_relaxed);
  return cpu_ns > accounted ? cpu_ns - accounted : 0;
}

// Of this thread so far.
uint64_t page_faults() {
  if (is_filtered()) return 0;
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_minflt + usage.ru_majflt);
}

// A program that closes our descriptor gets no other.
void set_perf_or_do_without(Thread* thread, uint64_t period_ns, PerfUse use) {
  if (is_without_descriptor(thread) || set_perf_period(thread, period_ns)) return;
  reopen_without_descriptor(thread, current_rate_hz(), use);
}

class PerfKernel final : public Engine {
 public:
  const char* name() const override { return "perf+kernel"; }
  bool arm(Thread* thread, uint32_t rate_hz) override { return open_perf(thread, rate_hz, PerfUse::AllTicks); }
  void disarm(Thread* thread) override { close_perf(thread); }
  void draw_next(Thread* thread, uint32_t rate_hz) override { reopen_without_descriptor(thread, rate_hz, PerfUse::AllTicks); }
  void settle(Thread* thread, uint32_t rate_hz) override { reopen_with_descriptor(thread, rate_hz, PerfUse::AllTicks); }
  void pause(Thread* thread, bool paused) override { pause_perf(thread, current_rate_hz(), PerfUse::AllTicks, paused); }
  uint64_t weigh(Thread* thread, Tick, uint64_t cpu_ns, const void*) override { return since_last(thread, cpu_ns); }
  void set_period(Thread* thread, uint64_t period_ns) override { set_perf_or_do_without(thread, period_ns, PerfUse::AllTicks); }
};

// A timer looks at its clock when the kernel ticks: set half a tick early it goes off at the tick that is meant.
uint64_t timer_wait_ns(uint64_t wait_ns, uint32_t rate_hz) {
  const uint64_t early_ns = on_scheduler_ticks(rate_hz) ? scheduler_tick_ns() / 2 : 0;
  return wait_ns > early_ns ? wait_ns - early_ns : 1;  // 0 would stop it
}

class CpuTimer : public Engine {
 public:
  const char* name() const override { return "timer"; }
  bool arm(Thread* thread, uint32_t rate_hz) override {
    thread->period_ns = until_tick(mono_ns(), rate_hz);
    return open_timer(thread, timer_wait_ns(thread->period_ns, rate_hz));
  }
  void disarm(Thread* thread) override { close_timer(thread); }
  void pause(Thread* thread, bool paused) override {
    set_timer_period(thread, paused ? 0 : kSecondNs / current_rate_hz());
  }
  uint64_t weigh(Thread* thread, Tick, uint64_t cpu_ns, const void*) override { return since_last(thread, cpu_ns); }
  void set_period(Thread* thread, uint64_t period_ns) override {
    thread->period_ns = period_ns;
    set_timer_period(thread, timer_wait_ns(period_ns, current_rate_hz()));
  }
};

// Most threads are hardly ever in the kernel, and setting perf's clock costs as much as walking a stack. So perf
// ticks along only while the thread was lately seen to come out of the kernel.
class TimerKernel final : public CpuTimer {
 public:
  const char* name() const override { return "timer+kernel"; }
  bool arm(Thread* thread, uint32_t rate_hz) override {
    if (!open_perf(thread, rate_hz, agent_options().blocks ? PerfUse::KernelStacksOnly : PerfUse::AllTicks)) return false;
    thread->kernel_watch = kWatchTicks;
    if (has_room_for_stacks(thread->kernel_ring) &&
        (is_without_descriptor(thread) ? open_timer(thread, kStopped) : CpuTimer::arm(thread, rate_hz))) {
      return true;
    }
    close_perf(thread);
    return false;
  }
  void disarm(Thread* thread) override {
    CpuTimer::disarm(thread);
    close_perf(thread);
  }
  void draw_next(Thread* thread, uint32_t rate_hz) override { reopen_without_descriptor(thread, rate_hz, PerfUse::AllTicks); }
  void settle(Thread* thread, uint32_t rate_hz) override {
    if (reopen_with_descriptor(thread, rate_hz, PerfUse::KernelStacksOnly)) thread->kernel_watch = kWatchTicks;
  }
  void pause(Thread* thread, bool paused) override {
    pause_perf(thread, current_rate_hz(), PerfUse::AllTicks, paused);
    if (!is_without_descriptor(thread)) CpuTimer::pause(thread, paused);
  }
  uint64_t weigh(Thread* thread, Tick tick, uint64_t cpu_ns, const void* context) override {
    if (tick == Tick::Timer) saw_scheduler_tick(mono_ns());
    if (behind_system_call(pc_of(static_cast<const ucontext_t*>(context))) || faults_often(thread)) thread->kernel_watch = kWatchTicks;
    return CpuTimer::weigh(thread, tick, cpu_ns, context);
  }
  void set_period(Thread* thread, uint64_t period_ns) override {
    if (is_without_descriptor(thread)) return;
    CpuTimer::set_period(thread, period_ns);
    if (thread->kernel_watch == 0 || !thread->kernel_ring) return;
    const uint64_t perf_ns = --thread->kernel_watch ? period_ns - kAheadNs : kNeverNs;
    if (set_perf_period(thread, perf_ns)) {
      thread->period_ns = period_ns;
    } else if (reopen_without_descriptor(thread, current_rate_hz(), PerfUse::AllTicks)) {
      set_timer_period(thread, kStopped);
    } else {
      close_perf(thread);  // the timer goes on
    }
  }
  // Both clocks go off at the same tick of the kernel's, unless the thread was away from its CPU in between: then perf
  // did at any moment, and perhaps in an earlier stay.
  bool is_of_this_stay(const Thread* thread, uint64_t noted_ns, uint64_t time_ns, uint64_t pc) override {
    if (is_without_descriptor(thread)) return true;  // perf sends the signal itself
    const uint64_t tick_ns = scheduler_tick_ns();
    const uint64_t late_ns = tick_ns ? (noted_ns + kEarliestNs + tick_ns - scheduler_tick_phase_ns()) % tick_ns : 0;
    if (late_ns > kEarliestNs + kLatestNs) return false;
    return behind_system_call(pc) || time_ns - noted_ns < kLongestFaultNs;
  }

 private:
  // Perf must look before the kernel's tick is dealt with, or it sees nothing but that. Setting its clock takes a while,
  // and so does an interrupt: the two mostly meet.
  static constexpr uint64_t kAheadNs = 30'000;
  static constexpr uint64_t kEarliestNs = 60'000, kLatestNs = 150'000;  // perf's note before and after the kernel's tick
  static constexpr uint64_t kLongestFaultNs = 500'000;  // a huge page to clear, and the way back to user code
  static constexpr uint8_t kWatchTicks = 64;            // a thread with 3 % in the kernel is watched 6 ticks of 7
  static constexpr uint64_t kStopped = 0;
  static constexpr uint64_t kNeverNs = 3'600 * kSecondNs;
  static constexpr unsigned kLookEvery = 8;             // ticks: asking for the count of faults is a system call
  static constexpr uint64_t kManyFaults = 8 * kLookEvery;

  static bool faults_often(Thread* thread) {
    if (thread->samples.load(std::memory_order_relaxed) % kLookEvery) return false;
    const uint64_t before = thread->faults_seen;
    thread->faults_seen = page_faults();
    return thread->faults_seen - before >= kManyFaults;
  }
};

// perf sees user time only: each of its ticks stands for one period of it. What the
// thread's clock shows beyond that is kernel time; it goes to those timer ticks that
// came out of the kernel. Giving it to all timer ticks (or weighing both kinds
// by the clock alone) would move kernel time to user code in proportion to its share.
class PerfTimer final : public Engine {
 public:
  const char* name() const override { return "perf+timer"; }
  bool arm(Thread* thread, uint32_t rate_hz) override {
    if (!open_perf(thread, rate_hz, PerfUse::UserTicks)) return false;
    if (open_timer(thread, kSecondNs / (rate_hz < kTimerHz ? rate_hz : kTimerHz))) return true;
    close_perf(thread);
    return false;
  }
  void disarm(Thread* thread) override {
    close_perf(thread);
    close_timer(thread);
  }
  void draw_next(Thread* thread, uint32_t rate_hz) override { reopen_without_descriptor(thread, rate_hz, PerfUse::UserTicks); }
  void settle(Thread* thread, uint32_t rate_hz) override { reopen_with_descriptor(thread, rate_hz, PerfUse::UserTicks); }
  void pause(Thread* thread, bool paused) override {
    pause_perf(thread, current_rate_hz(), PerfUse::UserTicks, paused);
    uint32_t rate_hz = current_rate_hz();
    set_timer_period(thread, paused ? 0 : kSecondNs / (rate_hz < kTimerHz ? rate_hz : kTimerHz));
  }
  uint64_t weigh(Thread* thread, Tick tick, uint64_t cpu_ns, const void* context) override {
    uint64_t accounted = thread->accounted_ns.load(std::memory_order_relaxed);
    uint64_t period = thread->period_ns;
    if (tick == Tick::Perf) {
      // The clock may lag behind by the part of a period; more is an error that must not add up.
      uint64_t limit = cpu_ns + period;
      return accounted + period <= limit ? period : limit > accounted ? limit - accounted : 0;
    }
    if (!came_from_kernel(thread, static_cast<const ucontext_t*>(context))) return 0;
    // On average half a period of user time has passed since perf's last tick and is still perf's.
    return cpu_ns > accounted + period / 2 ? cpu_ns - accounted - period / 2 : 0;
  }
  void set_period(Thread* thread, uint64_t period_ns) override { set_perf_or_do_without(thread, period_ns, PerfUse::UserTicks); }

 private:
  static constexpr uint32_t kTimerHz = 250;

  // After a page fault the pc is at the instruction that faulted, and only the count of faults tells.
  static bool came_from_kernel(Thread* thread, const ucontext_t* context) {
    if (behind_system_call(pc_of(context))) return true;
    const uint64_t faults = page_faults();
    bool faulted = faults != thread->faults_seen;
    thread->faults_seen = faults;
    return faulted;
  }
};

constinit TimerKernel timer_kernel;
constinit PerfKernel perf_kernel;
constinit PerfTimer perf_timer;
constinit CpuTimer cpu_timer;

}  // namespace

Engine* timer_kernel_engine() { return &timer_kernel; }
Engine* perf_kernel_engine() { return &perf_kernel; }
Engine* perf_timer_engine() { return &perf_timer; }
Engine* timer_engine() { return &cpu_timer; }

}  // namespace sonde
