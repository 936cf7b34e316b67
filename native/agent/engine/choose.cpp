#include <errno.h>
#include <poll.h>

#include <initializer_list>

#include "common/system.h"
#include "core/agent.h"
#include "engine/cpu_timer.h"
#include "engine/engine.h"
#include "engine/grid.h"
#include "engine/perf_event.h"
#include "engine/scheduler_tick.h"
#include "engine/shared_rate.h"
#include "log/loss.h"
#include "process/confined.h"
#include "signals/mask.h"

namespace sonde {
namespace {

bool works(Engine* engine) {
  Thread probe;
  probe.tid = thread_id();
  probe.random = 1;
  if (!engine->arm(&probe, 1)) return false;  // one tick per second: none will come before disarm
  engine->disarm(&probe);
  return true;
}

}  // namespace

uint64_t next_random(uint64_t* state) {
  uint64_t x = *state ? *state : 0x2545f4914f6cdd1du;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  *state = x;
  return x * 0x2545f4914f6cdd1du;
}

Engine* choose_engine(const Options& options) {
  find_scheduler_tick();
  // A visitor takes its clocks away from threads that run: a timer has nothing mapped that a handler might read.
  if (agent_visits()) return works(timer_engine()) ? timer_engine() : nullptr;
  // Up to a rate that the kernel's own ticks can give, a timer on them is cheapest; beyond it only perf keeps time.
  Engine* const seldom[] = {timer_kernel_engine(), timer_engine(), perf_timer_engine()};
  Engine* const often[] = {perf_kernel_engine(), perf_timer_engine(), timer_engine()};
  const auto& wanted = on_scheduler_ticks(options.rate_hz) ? seldom : often;
  Engine* const asked = options.engine == EngineChoice::TimerKernel  ? timer_kernel_engine()
                        : options.engine == EngineChoice::PerfKernel ? perf_kernel_engine()
                        : options.engine == EngineChoice::PerfTimer  ? perf_timer_engine()
                        : options.engine == EngineChoice::Timer      ? timer_engine()
                                                                     : nullptr;
  if (asked && works(asked)) return asked;
  for (Engine* engine : wanted) {
    if (works(engine)) return engine;
  }
  return nullptr;
}

void arm_current(Thread* thread) {
  Engine* chosen = agent_engine();
  if (!chosen || thread->engine) return;
  if (is_filtered()) return count_loss(Loss::ThreadsConfined);
  if (agent_visits() && !agent_sampling()) return;  // it is about to leave
  const uint32_t rate = current_rate_hz();
  // Descriptors may be scarce, or timers (RLIMIT_SIGPENDING): what is left is still a clock.
  for (Engine* engine : {chosen, timer_engine(), perf_timer_engine()}) {
    thread->engine = engine;  // before the first tick can come
    if (engine->arm(thread, rate)) {
      if (sample_signal_held()) engine->pause(thread, true);
      return;
    }
    if (engine == chosen && chosen != timer_engine()) count_loss(Loss::PerfScarce);
  }
  thread->engine = nullptr;
  count_loss(Loss::ThreadsNotArmed);
}

void disarm_current(Thread* thread) {
  if (!thread->engine || is_filtered()) return;
  Engine* engine = thread->engine;
  engine->disarm(thread);
  thread->engine = nullptr;
}

void forget_engine(Thread* thread) {
  forget_perf(thread);
  thread->has_timer = false;  // timers are not inherited
  thread->engine = nullptr;
}

Tick classify_tick(const siginfo_t* info) {
  switch (info->si_code) {
    case SI_TIMER: return is_our_timer(info) ? Tick::Timer : Tick::Foreign;
    case SI_USER:
      // Without memory for a siginfo the kernel delivers the signal bare. Nobody has pid 0.
      return info->si_pid == 0 ? Tick::Unclear : Tick::Foreign;
    default: return info->si_code >= POLL_IN && info->si_code <= POLL_HUP ? Tick::Perf : Tick::Foreign;
  }
}

}  // namespace sonde
