#include "waits/waits.h"

#include "common/clock.h"
#include "core/options.h"
#include "log/loss.h"
#include "pools/owner.h"
#include "sample/record.h"
#include "threads/registry.h"
#include "waits/python_state.h"

namespace sonde {
namespace {

constexpr uint64_t kLookEveryNs = 95'000'000;     // just under the drain's period
constexpr uint64_t kWriteEveryNs = 5'000'000'000; // a long wait is written at least this often
constexpr uint64_t kIgnoreBelowNs = 200'000;      // clocks are read one after the other
constexpr uint32_t kSnapshotsPerLook = 24;        // about 20 us each: bounds the cost with many threads
constexpr uint64_t kAskAtLeastEveryNs = 1'000'000'000;  // also of a thread that hardly leaves the CPU
// Looks are rare while a program only computes. A wait of this length that began and ended between two such looks is
// written as one that nobody saw: left for the next place, it would be counted where it was not.
constexpr uint64_t kUnseenNs = 30'000'000;
constexpr uint64_t kQueuedPieceNs = 1'000'000;  // less time in the run queue waits for more before it is written
constexpr uint64_t kBusyMachineShare = 10;      // a tenth of a look in the run queue: the next look comes soon

// Computed (nearly) all the time since the last look that asked the kernel: nothing to learn from another.
bool hardly_left_the_cpu(const WaitState& wait, uint64_t now_ns, uint64_t cpu_ns) {
  if (wait.looked_ns == 0 || now_ns - wait.looked_ns >= kAskAtLeastEveryNs) return false;
  const uint64_t wall_ns = now_ns - wait.looked_ns, used_ns = cpu_ns - wait.cpu_ns;
  return used_ns >= wall_ns || wall_ns - used_ns < wall_ns / 100;
}

// A thread that is neither blocked nor gets CPU time stands in the run queue. The kernel adds that to its run delay
// only when it is over, so what is missing at such a look is not known to be blocked time yet.
bool stands_in_queue(Thread* thread, const Blocked& blocked, uint64_t cpu_ns) {
  timespec cpu = {};
  if (blocked.blocked || clock_gettime(thread_cpu_clock(thread->tid), &cpu) != 0) return false;
  return static_cast<uint64_t>(cpu.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(cpu.tv_nsec) == cpu_ns;
}

// The background thread has its own scratch: it walks other threads' stacks.
NativeFrame native_frames[kMaxNativeFrames];
PythonFrame python_frames[kMaxPythonFrames];
uint64_t packed[2 * kMaxNativeFrames];

// Blocked inside an OpenMP runtime, directly or through libc: a worker without work. Looks at the
// frames of the last snapshot.
bool is_idle_pool() {
  for (unsigned i = 0; i < 3; i++) {
    if (pool_runtime_holds(native_frames[i].pc)) return true;
  }
  return false;
}

}  // namespace

void WaitRecorder::reset() {
  last_look_ns_ = 0;
  some_python_state_ = nullptr;
}

void WaitRecorder::begin_session() {
  for (uint32_t i = 0; i < thread_slots(); i++) thread_at(i)->wait.blocked = false;
}

void WaitRecorder::begin_account(Thread* thread, uint64_t now_ns) {
  timespec cpu = {};
  clock_gettime(thread_cpu_clock(thread->tid), &cpu);
  WaitState& wait = thread->wait = WaitState{};
  wait.looked_ns = wait.since_ns = now_ns;
  wait.cpu_ns = static_cast<uint64_t>(cpu.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(cpu.tv_nsec);
  read_run_delay(thread, &wait.delay_ns);
}

News WaitRecorder::look(uint64_t now_ns) {
  if (now_ns - last_look_ns_ < kLookEveryNs) return News::None;
  last_look_ns_ = now_ns;
  bool place = false, queue = false;
  uint32_t slots = thread_slots(), budget = kSnapshotsPerLook;
  for (uint32_t i = 0; i < slots; i++) {
    uint32_t slot = (next_slot_ + i) % slots;
    Thread* thread = thread_at(slot);
    if (thread->phase.load(std::memory_order_acquire) != Phase::Live) continue;
    if (budget == 0) {  // go on from here next time
      next_slot_ = slot;
      return News::Place;
    }
    timespec cpu = {};
    if (clock_gettime(thread_cpu_clock(thread->tid), &cpu) != 0) continue;
    uint64_t cpu_ns = static_cast<uint64_t>(cpu.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(cpu.tv_nsec);
    WaitState& wait = thread->wait;
    bool still_there = wait.blocked && cpu_ns == wait.cpu_ns && !(wait.without_interpreter && some_python_state_);
    if (still_there) {  // has not run since: same place, no need to look
      wait.pending_ns += now_ns - wait.looked_ns;
      wait.looked_ns = now_ns;
    } else if (!hardly_left_the_cpu(wait, now_ns, cpu_ns)) {
      budget--;
      const bool rare = wait.unsettled_is_rare || (wait.looked_ns != 0 && now_ns - wait.looked_ns > 2 * kLookEveryNs);
      const uint64_t wall_ns = wait.looked_ns != 0 ? now_ns - wait.looked_ns : 0;
      uint64_t queued_ns = 0;
      const Blocked blocked = read_blocked(thread);
      const uint64_t blocked_ns = account(thread, now_ns, cpu_ns, blocked, &queued_ns);
      wait.unsettled_is_rare = rare && wait.unsettled_ns != 0;
      queue |= queued_ns > kQueuedPieceNs && queued_ns > wall_ns / kBusyMachineShare;
      const bool was_blocked = wait.blocked;
      place |= look_at(thread, now_ns, blocked);
      if (rare && !was_blocked && !wait.blocked && blocked_ns >= kUnseenNs) {
        write(thread, wait.since_ns, log::WaitReason::Other, blocked_ns, false);
        wait.pending_ns -= blocked_ns;
        place = true;
      }
    }
    if (wait.blocked && now_ns - wait.since_ns > kWriteEveryNs) flush(thread);
  }
  return place ? News::Place : queue ? News::Queue : News::None;
}

// Adds the off-CPU time since the last look, or since the start of the thread; writes what was in the run queue.
uint64_t WaitRecorder::account(Thread* thread, uint64_t now_ns, uint64_t cpu_ns, const Blocked& blocked,
                               uint64_t* queued_ns) {
  WaitState& wait = thread->wait;
  uint64_t blocked_ns = 0;
  uint64_t delay_ns = 0;
  bool has_delay = read_run_delay(thread, &delay_ns);
  if (wait.looked_ns == 0) wait.looked_ns = wait.since_ns = thread->start_ns;
  // The clocks of a main thread did not start with our log.
  bool baseline = wait.cpu_ns == 0 && thread->kind == log::ThreadKind::Main;
  if (!baseline) {
    uint64_t wall = now_ns - wait.looked_ns, cpu = cpu_ns - wait.cpu_ns;
    uint64_t queued = has_delay && delay_ns > wait.delay_ns ? delay_ns - wait.delay_ns : 0;
    uint64_t off = (wall > cpu ? wall - cpu : 0) + wait.unsettled_ns;
    if (queued > off) queued = off;
    *queued_ns = queued;
    write_queued(thread, now_ns, queued > wall ? queued : wall, queued);
    const bool undecided = has_delay && off - queued >= kIgnoreBelowNs && stands_in_queue(thread, blocked, cpu_ns);
    wait.unsettled_ns = undecided ? off - queued : 0;
    blocked_ns = off - queued - wait.unsettled_ns;
    wait.pending_ns += blocked_ns;
  }
  wait.looked_ns = now_ns;
  wait.cpu_ns = cpu_ns;
  if (has_delay) wait.delay_ns = delay_ns;
  return blocked_ns;
}

// Time in the run queue, in the look that it fell into: one piece of many looks would lie over work that was done.
void WaitRecorder::write_queued(Thread* thread, uint64_t now_ns, uint64_t look_ns, uint64_t queued_ns) {
  WaitState& wait = thread->wait;
  if (wait.queued_ns == 0) wait.queued_since_ns = now_ns - look_ns;
  wait.queued_ns += queued_ns;
  if (wait.queued_ns < kQueuedPieceNs) return;
  write(thread, wait.queued_since_ns, log::WaitReason::Preempted, wait.queued_ns, false);
  wait.queued_ns = 0;
}

bool WaitRecorder::look_at(Thread* thread, uint64_t now_ns, const Blocked& blocked) {
  WaitState& wait = thread->wait;
  if (!blocked.blocked) {
    if (wait.blocked) {
      // It has left the place: what is pending up to its departure belongs there.
      flush(thread);
      wait.blocked = false;
    }
    return false;
  }
  if (wait.blocked && blocked.pc == wait.pc && blocked.sp == wait.sp && wait.epoch == stacks_->epoch() &&
      !(wait.without_interpreter && some_python_state_)) {
    return false;  // woke up and came back to the same place (a polling loop): one wait
  }
  if (wait.blocked && !wait.without_interpreter) flush(thread);
  wait.blocked = false;
  if (!snapshot(thread, blocked)) return false;
  wait.blocked = true;
  wait.pc = blocked.pc;
  wait.sp = blocked.sp;
  wait.reason = is_idle_pool() ? log::WaitReason::Idle : reason_of(blocked);
  if (wait.pending_ns == 0) wait.since_ns = now_ns;
  return true;
}

void* WaitRecorder::python_state_of(Thread* thread) {
  for (uint32_t i = 0; !some_python_state_ && i < thread_slots(); i++) {
    some_python_state_ = thread_at(i)->python_state.load(std::memory_order_relaxed);
  }
  void* state = thread->python_state.load(std::memory_order_relaxed);
  if (!state && some_python_state_) state = find_python_state(some_python_state_, thread->pthread);
  return state;
}

// Walks the blocked thread. False: it moved meanwhile.
bool WaitRecorder::snapshot(Thread* thread, const Blocked& blocked) {
  if (!rules_) rules_ = new_rule_cache();
  Registers registers;
  registers.set(Registers::kPc, blocked.pc);
  registers.set(Registers::kSp, blocked.sp);
  void* python_state = python_state_of(thread);
  Anchor anchor;
  if (python_state) anchor = python_anchor(python_state, thread->stack);
  WalkResult native = walk(registers, thread->stack, anchor, rules_, true, native_frames, kMaxNativeFrames);
  PythonWalk python;
  if (python_state) python = python_walk(python_state, python_frames, kMaxPythonFrames);
  for (uint32_t i = native.count; i < 3; i++) native_frames[i] = {};  // for is_idle_pool
  if (!read_blocked(thread).same_place(blocked)) {
    count_loss(Loss::WaitChanged);
    return false;
  }
  stacks_->make_room();
  for (uint32_t i = 0; i < native.count; i++) packed[i] = pack(native_frames[i]);
  WaitState& wait = thread->wait;
  wait.node = stacks_->intern_native(packed, native.count);
  uint32_t words = 0;
  for (uint32_t i = 0; i < python.count; i++) {
    packed[words++] = pack(python_frames[i]);
    if (python_frames[i].self) packed[words++] = python_frames[i].self;
  }
  wait.python_node = stacks_->intern_python(packed, python.count);
  wait.without_interpreter = !some_python_state_;
  wait.walk_end = static_cast<uint8_t>(native.end);
  wait.anchor = native.anchor_checked ? (native.anchor_hit ? 2 : 1) : 0;
  wait.epoch = stacks_->epoch();
  return true;
}

void WaitRecorder::write(Thread* thread, uint64_t since_ns, log::WaitReason reason, uint64_t weight_ns,
                         bool with_stack) {
  if (weight_ns < kIgnoreBelowNs) return;
  const WaitState& wait = thread->wait;
  with_stack = with_stack && wait.epoch == stacks_->epoch();
  log_->begin(log::Record::Wait).number(thread->number).time_delta(since_ns);
  log_->number(with_stack ? wait.node : 0).number(with_stack ? wait.python_node : 0).number(0).number(0);
  log_->number(weight_ns).number(static_cast<uint64_t>(log::SampleState::Waiting));
  log_->number(static_cast<uint64_t>(reason));
  log_->number(with_stack ? wait.walk_end : log::kWalkResidual).number(with_stack ? wait.anchor : 0);
  log_->stands_for_wait();
  log_->end();
}

void WaitRecorder::flush(Thread* thread) {
  WaitState& wait = thread->wait;
  if (wait.blocked) {
    write(thread, wait.since_ns, wait.reason, wait.pending_ns, true);
    wait.pending_ns = 0;
  }
  wait.since_ns = wait.looked_ns;
}

void WaitRecorder::end_of(Thread* thread, uint64_t end_ns, uint64_t cpu_ns) {
  WaitState& wait = thread->wait;
  if (wait.looked_ns == 0) return;
  uint64_t queued_ns = 0;
  if (end_ns < wait.looked_ns) end_ns = wait.looked_ns;
  if (cpu_ns < wait.cpu_ns) cpu_ns = wait.cpu_ns;
  account(thread, end_ns, cpu_ns, Blocked{}, &queued_ns);  // without the run delay of a thread that is gone
  wait.pending_ns += wait.unsettled_ns;
  flush(thread);
  if (!wait.blocked) write(thread, wait.since_ns, log::WaitReason::Other, wait.pending_ns, false);
  write(thread, wait.queued_since_ns, log::WaitReason::Preempted, wait.queued_ns, false);
  wait = WaitState{};
}

void WaitRecorder::before_new_epoch() {
  for (uint32_t i = 0; i < thread_slots(); i++) {
    Thread* thread = thread_at(i);
    if (thread->phase.load(std::memory_order_acquire) == Phase::Live && thread->wait.blocked) flush(thread);
  }
}

}  // namespace sonde
