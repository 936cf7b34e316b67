#include "background/blocks.h"

#include "common/clock.h"
#include "core/agent.h"
#include "engine/engine.h"
#include "threads/registry.h"

namespace sonde {
namespace {

// A third of the time is off. Short blocks, because neighbours are compared: what drifts
// slower than a pair falls out, and a minute of running gives two hundred pairs.
constexpr uint64_t kOnNs = 200'000'000, kOffNs = 100'000'000;

void switch_all(bool on) {
  for (uint32_t i = 0; i < thread_slots(); i++) {
    Thread* thread = thread_at(i);
    if (thread->phase.load(std::memory_order_acquire) != Phase::Live) continue;
    if (Engine* engine = thread->engine) engine->pause(thread, !on);
  }
}

}  // namespace

void Blocks::start(uint64_t now_ns) {
  random_ = now_ns | 1;
  second_ = false;
  begin_block(now_ns, true);  // sampling is on already
}

void Blocks::begin_block(uint64_t now_ns, bool on) {
  on_ = on;
  start_ns_ = now_ns;
  uint64_t mean = on ? kOnNs : kOffNs;
  end_ns_ = now_ns + mean / 2 + (next_random(&random_) >> 16) % mean;
  cpu_ns_ = program_cpu_ns();
}

// Without this thread's own: it works in both kinds of block, and is accounted by its clock. The sum of a process counts
// threads that run elsewhere only up to the kernel's last look at them, up to a tick ago (4 ms, 3 % of a block); asking a
// thread's own clock is such a look.
uint64_t Blocks::program_cpu_ns() {
  for (uint32_t i = 0; i < thread_slots(); i++) {
    const Thread* thread = thread_at(i);
    timespec unused;
    if (thread->phase.load(std::memory_order_acquire) == Phase::Live) {
      clock_gettime(thread_cpu_clock(thread->tid), &unused);
    }
  }
  return process_cpu_ns() - thread_cpu_ns();
}

void Blocks::write_block(uint64_t now_ns) {
  log_->begin(log::Record::Block).number(start_ns_).number(now_ns).number(on_ ? 1 : 0);
  log_->number(program_cpu_ns() - cpu_ns_);
  log_->end();
}

void Blocks::pass(uint64_t now_ns) {
  if (!active() || now_ns < end_ns_) return;
  write_block(now_ns);
  second_ = !second_;
  // The second of a pair is what the first was not; which comes first is a coin's choice.
  bool on = second_ ? !on_ : next_random(&random_) >> 63;
  if (on == on_) {
    begin_block(now_ns, on);
    return;
  }
  if (on) {
    for (uint32_t i = 0; i < thread_slots(); i++) {
      Thread* thread = thread_at(i);
      timespec cpu = {};
      if (thread->phase.load(std::memory_order_acquire) != Phase::Live || !thread->announced_in) continue;
      if (clock_gettime(thread_cpu_clock(thread->tid), &cpu) != 0) continue;
      uint64_t used = static_cast<uint64_t>(cpu.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(cpu.tv_nsec);
      uint64_t accounted = thread->accounted_ns.load(std::memory_order_relaxed);
      if (used <= accounted) continue;
      thread->accounted_ns.store(used, std::memory_order_relaxed);  // no tick can come: sampling is off
      stacks_->write_residual(thread->number, now_ns, used - accounted);
    }
    set_sampling(true);
    switch_all(true);
  } else {
    switch_all(false);
    set_sampling(false);
  }
  begin_block(mono_ns(), on);  // what switching took is in no block
}

void Blocks::finish(uint64_t now_ns) {
  if (active()) write_block(now_ns);
  start_ns_ = 0;
}

}  // namespace sonde
