#include "attach/visit.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cstring>

#include "arch/arch.h"
#include "attach/control.h"
#include "attach/slots.h"
#include "background/background.h"
#include "common/clock.h"
#include "core/agent.h"
#include "engine/engine.h"
#include "signals/alternate_stack.h"
#include "signals/shared.h"
#include "threads/adopt.h"
#include "threads/registry.h"

namespace sonde {
namespace {

constexpr uint64_t kQuietWithinNs = 500'000'000;
constexpr long kLookEveryNs = 1'000'000;
alignas(16) unsigned char scratch[64];  // for the injector: two stack_t

void pause_a_little() {
  const timespec pause = {0, kLookEveryNs};
  nanosleep(&pause, nullptr);
}

template <typename Is>
bool wait_until(Is is) {
  for (const uint64_t end_ns = mono_ns() + kQuietWithinNs; mono_ns() < end_ns; pause_a_little()) {
    if (is()) return true;
  }
  return is();
}

bool no_handler_runs() {
  for (uint32_t i = 0; i < thread_slots(); i++) {
    if (thread_at(i)->in_handler.load(std::memory_order_acquire)) return false;
  }
  return true;
}

bool is_pending(const char* path) {
  char line[256];
  FILE* file = fopen(path, "re");
  bool found = false;
  while (file && fgets(line, sizeof line, file)) {
    unsigned long long mask = 0;
    if (sscanf(line, "SigPnd: %llx", &mask) == 1 || sscanf(line, "ShdPnd: %llx", &mask) == 1) {
      found |= mask >> (kSampleSignal - 1) & 1;
    }
  }
  if (file) fclose(file);
  return found;
}

// Clocks are off: what is not pending now will never come.
bool no_tick_waits() {
  DIR* tasks = opendir("/proc/self/task");
  bool none = tasks != nullptr;
  while (const dirent* entry = none ? readdir(tasks) : nullptr) {
    char path[64];
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", entry->d_name);
    none = !is_pending(path);
  }
  if (tasks) closedir(tasks);
  return none;
}

Thread* live_thread(int tid) {
  for (uint32_t i = 0; i < thread_slots(); i++) {
    Thread* thread = thread_at(i);
    if (thread->tid == tid && thread->phase.load(std::memory_order_acquire) == Phase::Live) return thread;
  }
  return nullptr;
}

// Of an earlier visit, where nobody was left to give the thread its stack back: it goes on with the place that it has.
void take_again(Thread* thread) {
  const Phase phase = thread->phase.load(std::memory_order_acquire);
  if (phase == Phase::Free || phase == Phase::Starting) return;
  timespec cpu = {};
  if (phase == Phase::Ended || clock_gettime(thread_cpu_clock(thread->tid), &cpu) != 0) return give_back(thread);
  thread->accounted_ns.store(static_cast<uint64_t>(cpu.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(cpu.tv_nsec));
  thread->start_ns = mono_ns();
  thread->engine = nullptr;
  thread->awaits_stack = !agent_sleeps_through();
}

void disarm_all() {
  for (uint32_t i = 0; i < thread_slots(); i++) {
    Thread* thread = thread_at(i);
    if (thread->phase.load(std::memory_order_acquire) == Phase::Live && thread->engine) thread->engine->disarm(thread);
  }
}

bool none_is_starting() {
  for (uint32_t i = 0; i < thread_slots(); i++) {
    if (thread_at(i)->phase.load(std::memory_order_acquire) == Phase::Starting) return false;
  }
  return true;
}

}  // namespace

bool Visit::begin(const char* request, const char** why) {
  Options options;
  if (!read_options(request, &options)) {
    *why = "the request has no folder";
    return false;
  }
  if (agent_running()) {
    *why = "the process is being recorded already";
    return false;
  }
  if (!begin_visit(options)) {
    *why = "the kernel gives no timer for threads";
    end_visit();
    return false;
  }
  stacks_will_come(true);
  for (uint32_t i = 0; i < thread_slots(); i++) take_again(thread_at(i));
  adopt_unknown_threads(EarlierTime::NotOurs, Certainty::Now);
  return true;
}

bool Visit::start(const char** why) {
  if (!start_visit()) {
    *why = "the agent could not start its thread";
    return false;
  }
  recording_ = true;
  slots_ = patch_slots();
  for (uint32_t i = 0; i < thread_slots(); i++) {  // those that took their stack themselves while the agent slept
    Thread* thread = thread_at(i);
    if (thread->phase.load(std::memory_order_acquire) == Phase::Live && !thread->awaits_stack && !thread->engine) arm_known(thread);
  }
  return true;
}

void Visit::look_at_libraries() {
  if (recording_ && !stopped_) slots_ += patch_slots();
}

// The order matters: no new sample begins, then nobody is in one, then clocks are taken away under no handler's hands.
void Visit::stop() {
  if (stopped_) return;
  stopped_ = true;
  set_sampling(false);
  wait_until(no_handler_runs);
  disarm_all();
  unpatch_slots();
  wait_until(none_is_starting);
  disarm_all();
  stop_visit();
  see_background_off();
  kept_ = !wait_until(no_tick_waits);
}

void Visit::end() {
  stop();
  bool all_free = true;
  for (uint32_t i = 0; i < thread_slots(); i++) {
    all_free &= thread_at(i)->phase.load(std::memory_order_acquire) != Phase::Live;
  }
  // While a thread still has Sonde's alternate stack, handlers that ask for one would run on it: they stay forwarded.
  if (all_free) remove_shared_signals(kept_);
  stacks_will_come(false);
  end_visit();
}

size_t Visit::orders(char* out, size_t capacity) const {
  uint64_t own = 0;
  if (!thread_pointer(&own)) return 0;
  const auto room = [&](size_t used) { return capacity > used ? capacity - used : 0; };
  auto used = static_cast<size_t>(snprintf(out, capacity, "%llu %lld %lld\n",
      static_cast<unsigned long long>(reinterpret_cast<uint64_t>(scratch)),
      static_cast<long long>(current_thread_offset(own)), static_cast<long long>(alternate_stacks_offset(own))));
  for (uint32_t i = 0; i < thread_slots() && room(used) > 128; i++) {
    const Thread* thread = thread_at(i);
    if (thread->phase.load(std::memory_order_acquire) != Phase::Live) continue;
    if (!stopped_ && !thread->awaits_stack) continue;
    if (stopped_ && !thread->adopted && agent_sleeps_through()) continue;  // for the next visit
    const AlternateStack stack = stopped_ ? AlternateStack{} : thread->alternate;
    used += static_cast<size_t>(snprintf(out + used, room(used), "%d %llu %llu %llu\n", thread->tid,
        static_cast<unsigned long long>(stack.low), static_cast<unsigned long long>(stack.high),
        static_cast<unsigned long long>(stopped_ ? 0 : reinterpret_cast<uint64_t>(thread))));
  }
  return used;
}

void Visit::done(const char* lines) {
  for (const char* at = lines; at && *at; at = std::strchr(at, '\n') ? std::strchr(at, '\n') + 1 : nullptr) {
    int tid = 0, error = 0;
    unsigned long long pointer = 0;
    if (sscanf(at, "%d %d %llu", &tid, &error, &pointer) != 3) continue;
    Thread* thread = live_thread(tid);
    if (!thread) continue;
    if (stopped_) {
      if (error == 0 || error == ESRCH) give_back(thread);
    } else if (error == 0) {
      arm_with_stack(thread, pointer);
    } else if (error == ENOTSUP) {
      give_up_stack(thread);
    }
  }
}

}  // namespace sonde
