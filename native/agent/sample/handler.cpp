// Runs on whatever stack the program has: locals stay small (well under 1 KiB), frames go to the
// thread's scratch arrays. Every function here is async-signal-safe.
#include "sample/handler.h"

#include <errno.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>

#include "background/background.h"
#include "common/clock.h"
#include "common/system.h"
#include "core/agent.h"
#include "engine/engine.h"
#include "engine/kernel_stack.h"
#include "log/loss.h"
#include "pools/owner.h"
#include "sample/record.h"
#include "threads/registry.h"

namespace sonde {
namespace {

__thread uint32_t ticks_here __attribute__((tls_model("initial-exec"))) = 0;

constexpr uint64_t kJitterEvery = 8;  // samples; changing the period costs a system call

// A guarded read may fault; a fault that is blocked kills. Threads that block "all signals" exist.
void let_faults_through(const ucontext_t* context) {
  constexpr uint64_t kFaults = (uint64_t{1} << (SIGSEGV - 1)) | (uint64_t{1} << (SIGBUS - 1));
  uint64_t blocked = 0;
  std::memcpy(&blocked, &context->uc_sigmask, sizeof blocked);
  if (blocked & kFaults) {
    uint64_t set = kFaults;  // sigreturn puts the program's mask back
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, nullptr, sizeof set);
  }
}

uint8_t anchor_of(const WalkResult& walk) { return walk.anchor_checked ? (walk.anchor_hit ? 2 : 1) : 0; }

uint32_t python_words(const PythonFrame* frames, uint32_t count) {
  uint32_t words = count;
  for (uint32_t i = 0; i < count; i++) words += frames[i].self != 0;
  return words;
}

// Walks everything and writes one record. False: the ring is full.
bool record_sample(Thread* thread, const Registers& registers, uint64_t time_ns, uint64_t weight_ns) {
  PoolPosition pool = pool_position(registers.pc());
  void* python_state = python_thread_state();
  thread->python_state.store(python_state, std::memory_order_relaxed);
  Anchor anchor = pool.worker_anchor;
  if (!anchor.address && python_state) anchor = python_anchor(python_state, thread->stack);
  WalkResult native =
      walk(registers, thread->stack, anchor, thread->rules, true, thread->native, kMaxNativeFrames);
  WalkResult owner;
  bool owners_python = false;
  if (pool.owner) {
    owner = walk(pool.owner->registers, pool.owner->stack, pool.owner->anchor, thread->rules, false,
                 thread->owner_native, kMaxNativeFrames);
    owners_python = !python_state && pool.owner->python_state;
    if (owners_python) python_state = pool.owner->python_state;
  }
  PythonWalk python;
  if (python_state) python = python_walk(python_state, thread->python, kMaxPythonFrames);
  uint32_t owner_number = pool.owner ? pool.owner->thread : kNoThread;
  if (pool.owner && !pool_owner_stayed(pool)) {  // it moved on while we walked: what we saw is a mixture
    owner = WalkResult{};
    owner_number = kNoThread;
    if (owners_python) python = PythonWalk{};
  }
  if (python.failed) count_loss(Loss::PythonWalkFailed);
  if (python.truncated) count_loss(Loss::PythonTruncated);

  uint32_t kernel = take_kernel_stack(thread);
  uint32_t words = kHeadWords + kernel + native.count + owner.count + python_words(thread->python, python.count);
  uint64_t* at = thread->ring.reserve(words);
  if (!at) return false;
  SampleHead head = {};
  head.words = words;
  head.state = static_cast<uint8_t>(pool.state);
  head.walk_end = static_cast<uint8_t>(native.end);
  head.owner_walk_end = static_cast<uint8_t>(owner.end);
  head.anchor = anchor_of(native);
  head.time_ns = time_ns;
  head.weight_ns = weight_ns;
  head.owner = owner_number;
  head.native = static_cast<uint16_t>(kernel + native.count);
  head.owner_frames = owner.count;
  head.python = python.count;
  std::memcpy(at, &head, sizeof head);
  at += kHeadWords;
  for (uint32_t i = 0; i < kernel; i++) *at++ = pack_kernel(thread->kernel[i]);
  for (uint32_t i = 0; i < native.count; i++) *at++ = pack(thread->native[i]);
  for (uint32_t i = 0; i < owner.count; i++) *at++ = pack(thread->owner_native[i]);
  for (uint32_t i = 0; i < python.count; i++) {
    *at++ = pack(thread->python[i]);
    if (thread->python[i].self) *at++ = thread->python[i].self;
  }
  thread->ring.commit();
  return true;
}

void take_sample(Thread* thread, Tick tick, const ucontext_t* context) {
  uint64_t cpu_ns = thread_cpu_ns();
  Engine* engine = thread->engine;
  if (!engine) return;
  uint64_t weight_ns = engine->weigh(thread, tick, cpu_ns, context);
  if (weight_ns == 0) return;
  uint64_t time_ns = mono_ns();
  let_faults_through(context);
  if (record_sample(thread, registers_of(context), time_ns, weight_ns)) {
    thread->accounted_ns.fetch_add(weight_ns, std::memory_order_relaxed);
  } else {
    count_loss(Loss::RingFull);  // the weight stays unaccounted: the next sample carries it
  }
  if (thread->ring.half_full()) wake_background();
  uint64_t samples = thread->samples.fetch_add(1, std::memory_order_relaxed);
  if (samples % kJitterEvery == 0) engine->jitter(thread, agent_options().rate_hz);
  uint64_t spent_ns = thread_cpu_ns() - cpu_ns;
  thread->handler_ns.fetch_add(spent_ns, std::memory_order_relaxed);
  thread->handler_times.add(spent_ns);
  drop_kernel_stacks(thread);
}

}  // namespace

uint32_t ticks_on_this_thread() { return *const_cast<volatile uint32_t*>(&ticks_here); }

Registers registers_of(const void* context) {
  // DWARF number -> index in gregs.
  static constexpr int kIndex[Registers::kCount] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  const auto& gregs = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  Registers registers;
  for (unsigned i = 0; i < Registers::kCount; i++) registers.set(i, static_cast<uint64_t>(gregs[kIndex[i]]));
  return registers;
}

bool handle_sample_signal(siginfo_t* info, void* context) {
  Tick tick = classify_tick(info);
  if (tick == Tick::Foreign) return false;
  ticks_here++;
  int saved_errno = errno;
  Thread* thread = current_thread();
  if (thread && agent_sampling()) {
    if (thread->in_handler.exchange(true, std::memory_order_relaxed)) {
      count_loss(Loss::ReentrantSample);
    } else {
      take_sample(thread, tick, static_cast<const ucontext_t*>(context));
      thread->in_handler.store(false, std::memory_order_relaxed);
    }
  }
  errno = saved_errno;
  return true;
}

}  // namespace sonde
