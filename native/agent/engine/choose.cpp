#include <errno.h>
#include <poll.h>

#include "common/system.h"
#include "core/agent.h"
#include "engine/cpu_timer.h"
#include "engine/engine.h"
#include "engine/perf_event.h"
#include "engine/shared_rate.h"
#include "log/loss.h"

namespace sonde {

uint64_t next_random(uint64_t* state) {
  uint64_t x = *state ? *state : 0x2545f4914f6cdd1du;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  *state = x;
  return x * 0x2545f4914f6cdd1du;
}

Engine* choose_engine(const Options& options) {
  Engine* all[] = {perf_kernel_engine(), perf_timer_engine(), timer_engine()};
  size_t first = options.engine == EngineChoice::PerfTimer ? 1 : options.engine == EngineChoice::Timer ? 2 : 0;
  Thread probe;
  probe.tid = thread_id();
  probe.random = 1;
  for (size_t i = first; i < 3; i++) {
    if (all[i]->arm(&probe, 1)) {  // one tick per second: none will come before disarm
      all[i]->disarm(&probe);
      return all[i];
    }
  }
  return nullptr;
}

void arm_current(Thread* thread) {
  Engine* engine = agent_engine();
  if (!engine || thread->engine) return;
  const uint32_t rate = current_rate_hz();
  thread->engine = engine;  // before the first tick can come
  if (engine->arm(thread, rate)) return;
  if (engine != timer_engine()) count_loss(Loss::PerfScarce);
  thread->engine = timer_engine();
  if (timer_engine()->arm(thread, rate)) return;
  thread->engine = nullptr;
  count_loss(Loss::ThreadsNotArmed);
}

void disarm_current(Thread* thread) {
  if (!thread->engine) return;
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
    case SI_TIMER: return info->si_value.sival_ptr == timer_cookie() ? Tick::Timer : Tick::Foreign;
    case SI_USER:
      // Without memory for a siginfo the kernel delivers the signal bare. Nobody has pid 0.
      return info->si_pid == 0 ? Tick::Unclear : Tick::Foreign;
    default: return info->si_code >= POLL_IN && info->si_code <= POLL_HUP ? Tick::Perf : Tick::Foreign;
  }
}

}  // namespace sonde
