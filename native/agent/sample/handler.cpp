// Runs on the thread's alternate stack: what it may use of it is kHandlerStackBytes, checked when it is built; frames
// go to the thread's scratch arrays. Every function here is async-signal-safe.
#include "sample/handler.h"

#include <errno.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>

#include "arch/arch.h"
#include "background/background.h"
#include "common/clock.h"
#include "common/system.h"
#include "core/agent.h"
#include "engine/engine.h"
#include "engine/grid.h"
#include "engine/kernel_stack.h"
#include "engine/shared_rate.h"
#include "log/loss.h"
#include "pools/origin.h"
#include "pools/owner.h"
#include "process/confined.h"
#include "sample/record.h"
#include "signals/alternate_stack.h"
#include "signals/interrupted_call.h"
#include "signals/mask.h"
#include "signals/policy.h"
#include "threads/adopt.h"
#include "threads/registry.h"

namespace sonde {
namespace {

__thread uint32_t ticks_here __attribute__((tls_model("initial-exec"))) = 0;

constexpr uint64_t kSurelyAlone = 100'000;  // ns
constexpr uint64_t kFarthestNesting = 64u << 10;  // bytes between two handlers on one alternate stack

// The thread's CPU clock is a system call. Behind a filter, a tick stands for its period; what that leaves out comes
// with the thread's end.
uint64_t cpu_clock(const Thread* thread) {
  return is_filtered() ? thread->accounted_ns.load(std::memory_order_relaxed) + thread->period_ns : thread_cpu_ns();
}

// With borrowed variables, what is noted there is the creator's stack.
bool has_own_variables(const Thread& thread) {
  return thread.variables.load(std::memory_order_relaxed) != ThreadVariables::Borrowed;
}

uint8_t anchor_of(const WalkResult& walk) { return walk.anchor_checked ? (walk.anchor_hit ? 2 : 1) : 0; }

uint32_t python_words(const PythonFrame* frames, uint32_t count) {
  uint32_t words = count;
  for (uint32_t i = 0; i < count; i++) words += frames[i].self != 0;
  return words;
}

// What was found of one sample; the frames are in the thread's scratch arrays.
struct Found {
  PoolPosition pool;
  WalkResult native;
  WalkResult owner;  // with the owners of the owner above it
  PythonWalk python;
  uint32_t owner_number = kNoThread;
};

// The owner's frames, then those of the owner of the region that it was itself working in, and so on.
void walk_owners(Thread* thread, Found* found) {
  const PoolPosition& pool = found->pool;
  WalkResult& total = found->owner;
  total = walk(pool.owner->registers, pool.owner->stack, pool.owner->anchor, thread->rules, false,
               thread->owner_native, kMaxNativeFrames);
  for (const PoolOwner* outer : pool.outer) {
    if (!outer || total.end != WalkEnd::Root) return;
    NativeFrame* to = thread->owner_native + total.count;
    WalkResult more = walk(outer->registers, outer->stack, Anchor{}, nullptr, false, to, kMaxNativeFrames - total.count);
    if (more.count) to->flags |= kFrameOwner;
    total.count = static_cast<uint16_t>(total.count + more.count);
    total.end = more.end;
  }
}

// A worker that spins after a region's end: no work, but it is that region's doing. What its opener left of
// its Python code names it, unless the opener has opened another since.
void follow_trail(Thread* thread, Found* found) {
  RegionTrail& trail = thread->trail_read;
  PoolPosition& pool = found->pool;
  if (!read_trail(*pool.trail, pool.trail_number, &trail) || trail.thread == thread->number) return;
  const PythonWalk python = python_name_places(trail.place, trail.count, thread->python, kMaxPythonFrames);
  if (python.failed || (python.count == 0 && trail.origin == nullptr)) return;
  found->python = python;
  found->owner_number = trail.thread;
  if (trail.truncated) found->owner.end = WalkEnd::Truncated;
  pool.origin = trail.origin;
  pool.origin_ticket = trail.origin_ticket;
}

void walk_all(Thread* thread, const Registers& registers, Found* found) {
  if (!has_own_variables(*thread)) {  // pools and Python: not its own
    found->native = walk(registers, thread->stack, Anchor{}, thread->rules, true, thread->native, kMaxNativeFrames);
    return;
  }
  PoolPosition& pool = found->pool = pool_position(registers.pc(), &thread->pool_owner);
  void* python_state = python_thread_state();
  thread->python_state.store(python_state, std::memory_order_relaxed);
  Anchor anchor = pool.worker_anchor;
  if (!anchor.address && python_state) anchor = python_anchor(python_state, thread->stack);
  found->native = walk(registers, thread->stack, anchor, thread->rules, true, thread->native, kMaxNativeFrames);
  bool owners_python = false;
  if (pool.owner) {
    found->owner_number = pool.owner->thread;
    walk_owners(thread, found);
    owners_python = !python_state && pool.owner->python_state;
    if (owners_python) python_state = pool.owner->python_state;
  }
  if (python_state) {
    found->python = python_walk(python_state, thread->python, kMaxPythonFrames);
  } else if (pool.trail) {
    follow_trail(thread, found);
  }
  if (pool.owner && !pool_owner_stayed(pool)) {  // it moved on while we walked: what we saw is a mixture
    found->owner = WalkResult{};
    found->owner_number = kNoThread;
    pool.origin = nullptr;
    if (owners_python) found->python = PythonWalk{};
  }
  if (pool.origin && found->owner_number == kNoThread) found->owner_number = pool.origin->thread;
}

// Writes one record but its last field, and leaves it invisible. Null: the ring is full.
uint64_t* write_record(Thread* thread, const Found& found, uint32_t kernel, uint64_t time_ns, uint64_t weight_ns) {
  const Origin* origin = found.pool.origin;
  uint32_t origin_native = 0, origin_python = 0, origin_python_words = 0;
  uint8_t owner_end = static_cast<uint8_t>(found.owner.end);
  if (origin) {  // read once: it may change under our hands
    origin_native = origin->native;
    origin_python = origin->python;
    origin_python_words = origin->python_words;
    if (origin_native + origin_python_words > Origin::kWords) return nullptr;
    if (found.owner.end == WalkEnd::Root) owner_end = origin->walk_end;
  }
  uint32_t words = kHeadWords + kernel + found.native.count + found.owner.count + origin_native +
                   python_words(thread->python, found.python.count) + origin_python_words;
  uint64_t* const record = thread->ring.reserve(words);
  if (!record) return nullptr;
  SampleHead head = {};
  head.words = words;
  head.state = static_cast<uint8_t>(found.pool.state);
  head.walk_end = static_cast<uint8_t>(found.native.end);
  head.owner_walk_end = owner_end;
  head.anchor = anchor_of(found.native);
  head.time_ns = time_ns;
  head.weight_ns = weight_ns;
  head.owner = found.owner_number;
  head.native = static_cast<uint16_t>(kernel + found.native.count);
  head.owner_frames = static_cast<uint16_t>(found.owner.count + origin_native);
  head.python = static_cast<uint16_t>(found.python.count + origin_python);
  std::memcpy(record, &head, sizeof head);
  uint64_t* at = record + kHeadWords;
  for (uint32_t i = 0; i < kernel; i++) *at++ = pack_kernel(thread->kernel[i]);
  for (uint32_t i = 0; i < found.native.count; i++) *at++ = pack(thread->native[i]);
  for (uint32_t i = 0; i < found.owner.count; i++) *at++ = pack(thread->owner_native[i]);
  if (origin_native) {
    std::memcpy(at, origin->words, 8u * origin_native);
    if (found.owner.count) *at |= uint64_t{kFrameOwner} << 56;
    at += origin_native;
  }
  for (uint32_t i = 0; i < found.python.count; i++) {
    *at++ = pack(thread->python[i]);
    if (thread->python[i].self) *at++ = thread->python[i].self;
  }
  if (origin_python_words) std::memcpy(at, origin->words + origin_native, 8u * origin_python_words);
  return origin && !origin_stayed(found.pool.origin_ticket) ? nullptr : record;
}

// Walks everything and writes one record, still invisible. Null: the ring is full.
uint64_t* record_sample(Thread* thread, const Registers& registers, uint64_t time_ns, uint64_t weight_ns) {
  const uint32_t kernel = take_kernel_stack(thread, time_ns, registers.pc());
  Found found;
  const uint64_t before_ns = mono_ns();
  walk_all(thread, registers, &found);
  thread->walk_times.add(mono_ns() - before_ns);
  if (found.python.failed) count_loss(Loss::PythonWalkFailed);
  if (found.python.truncated) count_loss(Loss::PythonTruncated);
  uint64_t* record = write_record(thread, found, kernel, time_ns, weight_ns);
  if (record || !found.pool.origin) return record;
  found.pool.origin = nullptr;  // the backward pass ended meanwhile
  if (!found.pool.owner) found.owner_number = kNoThread;
  return write_record(thread, found, kernel, time_ns, weight_ns);
}

// The record becomes visible with the last that the handler does: what it says of its end is the end.
void finish_record(Thread* thread, uint64_t* record, uint64_t handler_ns) {
  const auto clipped = static_cast<uint32_t>(handler_ns < UINT32_MAX ? handler_ns : UINT32_MAX);
  std::memcpy(reinterpret_cast<char*>(record) + offsetof(SampleHead, handler_ns), &clipped, sizeof clipped);
  thread->ring.commit();
  if (thread->ring.half_full() && !is_filtered()) wake_background();
}

// Asked last, because a clock that is set begins anew and this handler may have been preempted.
void set_next_tick(Thread* thread, Tick tick, uint64_t cpu_ns) {
  if (is_filtered()) return;  // the clock goes on with the period that it has
  if (thread->settles_at_ns && cpu_ns >= thread->settles_at_ns) {
    thread->engine->settle(thread, current_rate_hz());
  } else if (thread->settles_at_ns && tick == Tick::Perf) {
    thread->engine->draw_next(thread, current_rate_hz());
  }
  thread->engine->set_period(thread, until_tick(mono_ns(), current_rate_hz()));
}

void take_sample(Thread* thread, Tick tick, const ucontext_t* context) {
  const uint64_t time_ns = mono_ns();
  const uint64_t cpu_ns = cpu_clock(thread);
  Engine* engine = thread->engine;
  if (!engine) return;
  uint64_t weight_ns = engine->weigh(thread, tick, cpu_ns, context);
  if (weight_ns == 0) return;
  if (!let_faults_through(context)) return;
  uint64_t* const record = record_sample(thread, registers_of(static_cast<const ucontext_t*>(context)), time_ns, weight_ns);
  if (record) {
    thread->accounted_ns.fetch_add(weight_ns, std::memory_order_relaxed);
  } else {
    count_loss(Loss::RingFull);  // the weight stays unaccounted: the next sample carries it
  }
  thread->samples.fetch_add(1, std::memory_order_relaxed);
  set_next_tick(thread, tick, cpu_ns);
  drop_kernel_stacks(thread);
  const uint64_t lasted_ns = mono_ns() - time_ns;
  // The CPU clock is a system call; it is asked only when the handler itself may have been interrupted.
  const uint64_t spent_ns = lasted_ns < kSurelyAlone || is_filtered() ? lasted_ns : thread_cpu_ns() - cpu_ns;
  thread->handler_ns.fetch_add(spent_ns, std::memory_order_relaxed);
  thread->handler_times.add(spent_ns);
  if (record) finish_record(thread, record, lasted_ns);
}

// Is the sampling that began at `in_handler` still under way below what was interrupted now? It is not when a handler
// of the program left it for good (siglongjmp): then the thread is somewhere else, or higher up.
bool handler_is_below(const Thread& thread, const void* context) {
  const uint64_t began = thread.in_handler.load(std::memory_order_relaxed);
  const uint64_t sp = sp_of(static_cast<const ucontext_t*>(context));
  return sp < began && began - sp < kFarthestNesting;
}

// What a sampling that was left for good had begun. Its record was never visible: the next one takes its place.
void clear_up_after(Thread* thread) {
  walk_abandoned();
  thread->put_off = 0;
}

void send_what_was_put_off(Thread* thread) {
  const int signal = thread->put_off;
  if (!signal) return;
  thread->put_off = 0;
  syscall(SYS_rt_tgsigqueueinfo, process_id(), thread_id(), signal, &thread->put_off_info);
}

void sample_once(Thread* thread, Tick tick, ucontext_t* context) {
  if (thread->in_handler.load(std::memory_order_relaxed)) {
    if (handler_is_below(*thread, context)) return count_loss(Loss::ReentrantSample);
    clear_up_after(thread);
  }
  const bool own = has_own_variables(*thread);
  if (own) restore_alternate_stack(context);
  if (own && !has_room_for_handler(context, thread->stack.low, thread->stack.high)) {
    return count_loss(Loss::SmallSignalStack);  // the weight stays unaccounted: the next sample carries it
  }
  thread->in_handler.store(reinterpret_cast<uint64_t>(context), std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // who ends sampling waits for `in_handler` (process/confined.cpp)
  if (agent_sampling()) take_sample(thread, tick, context);
  thread->in_handler.store(0, std::memory_order_relaxed);
  send_what_was_put_off(thread);
}

}  // namespace

uint32_t ticks_on_this_thread() { return *const_cast<volatile uint32_t*>(&ticks_here); }

bool put_off_until_sampled(int signal, const siginfo_t* info, const void* context) {
  Thread* thread = current_thread();
  if (!thread || thread->put_off || !handler_is_below(*thread, context)) return false;
  thread->put_off_info = *info;
  thread->put_off = signal;
  return true;
}

bool handle_sample_signal(siginfo_t* info, void* context) {
  Tick tick = classify_tick(info);
  if (tick == Tick::Foreign) return false;
  Thread* const adopted = adopted_thread(info);
  if (adopted && !enter_adopted(adopted, context)) return true;
  ticks_here++;
  int saved_errno = errno;
  Thread* thread = adopted ? adopted : current_thread();
  const InterruptedCall call(static_cast<ucontext_t*>(context), !thread || has_own_variables(*thread));
  if (thread && agent_sampling()) sample_once(thread, tick, static_cast<ucontext_t*>(context));
  if (thread && thread->variables.load(std::memory_order_relaxed) == ThreadVariables::Own) settle_mask(context);
  call.put_right();
  errno = saved_errno;
  return true;
}

}  // namespace sonde
