#include "threads/registry.h"

#include <sys/mman.h>
#include <sys/prctl.h>

#include <new>

#include "attach/control.h"
#include "background/background.h"
#include "common/clock.h"
#include "common/hot_memory.h"
#include "common/system.h"
#include "core/agent.h"
#include "core/options.h"
#include "engine/engine.h"
#include "log/loss.h"
#include "process/confined.h"
#include "signals/mask.h"
#include "threads/adopt.h"

namespace sonde {
namespace {

__thread Thread* self __attribute__((tls_model("initial-exec"))) = nullptr;

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
std::atomic<Thread*> slots[kMaxThreads];
std::atomic<uint32_t> slot_count{0};
std::atomic<uint32_t> next_number{0};
std::atomic<uint32_t> ended{0};
constexpr uint32_t kDrainAtEnded = 256;  // threads: their slots are to be used again before the table is full

size_t mapping_bytes() {
  return sizeof(Thread) + 2 * kMaxNativeFrames * sizeof(NativeFrame) + kMaxPythonFrames * sizeof(PythonFrame) +
         ring_words() * 8 + 64;
}

Thread* make_thread() {
  void* memory = hot_memory(mapping_bytes());
  if (!memory) {
    memory =
        mmap(nullptr, mapping_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (memory == MAP_FAILED) {
    count_loss(Loss::NoMemory);
    return nullptr;
  }
  auto* thread = new (memory) Thread;
  auto* at = static_cast<uint8_t*>(memory) + ((sizeof(Thread) + 63) & ~size_t{63});
  thread->native = reinterpret_cast<NativeFrame*>(at);
  thread->owner_native = thread->native + kMaxNativeFrames;
  thread->python = reinterpret_cast<PythonFrame*>(thread->owner_native + kMaxNativeFrames);
  thread->ring.attach(reinterpret_cast<uint64_t*>(thread->python + kMaxPythonFrames), ring_words());
  thread->rules = new_rule_cache();
  return thread;
}

void recycle(Thread* thread) {
  thread->number = next_number.fetch_add(1, std::memory_order_relaxed);
  thread->in_handler.store(0, std::memory_order_relaxed);
  thread->put_off = 0;
  thread->kind = log::ThreadKind::Ordinary;
  thread->start_ns = thread->end_ns = thread->end_cpu_ns = 0;
  thread->destructor_rounds = 0;
  thread->engine = nullptr;
  thread->perf_fd = -1;
  thread->kernel_ring = nullptr;
  thread->settles_at_ns = 0;
  thread->has_timer = false;
  thread->accounted_ns.store(0, std::memory_order_relaxed);
  thread->faults_seen = 0;
  thread->announced_in = 0;
  thread->adopted = thread->awaits_stack = false;
  thread->variables.store(ThreadVariables::Own, std::memory_order_relaxed);
  thread->seen_sp.store(0, std::memory_order_relaxed);
  thread->unseen_cpu_ns = 0;
  thread->name[0] = 0;
  thread->wait = WaitState{};
  thread->python_state.store(nullptr, std::memory_order_relaxed);
  thread->handler_times.clear();
  thread->walk_times.clear();
  thread->ring.reset();
}

void read_stack_bounds(Thread* thread) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* low = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
    thread->stack.low = reinterpret_cast<uint64_t>(low);
    thread->stack.high = thread->stack.low + size;
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace

// 100 Hz gives about 50 samples of 0.5-1 KiB between two drains; deeper stacks make drains more frequent.
uint32_t ring_words() {
  uint32_t rate = agent_options().rate_hz;
  uint32_t bytes = 64u << 10;
  while (bytes < 256u << 10 && bytes < rate * 400u) bytes *= 2;
  return bytes / 8;
}

Thread* current_thread() { return self; }
void set_current_thread(Thread* thread) { self = thread; }
int64_t current_thread_offset(uint64_t thread_pointer) {
  return static_cast<int64_t>(reinterpret_cast<uint64_t>(&self) - thread_pointer);
}
uint32_t current_thread_number() { return self ? self->number : kNoThread; }
RegionTrail* next_trail() { return self ? &self->trail[self->trails++ % 2] : nullptr; }
StackBounds current_stack_bounds() { return self ? self->stack : StackBounds{}; }

Thread* take_thread() {
  pthread_mutex_lock(&lock);
  Thread* found = nullptr;
  uint32_t count = slot_count.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count && !found; i++) {
    Thread* candidate = slots[i].load(std::memory_order_relaxed);
    if (candidate->phase.load(std::memory_order_acquire) == Phase::Free) found = candidate;
  }
  if (!found && count < kMaxThreads && (found = make_thread())) {
    found->slot = count;
    slots[count].store(found, std::memory_order_release);
    slot_count.store(count + 1, std::memory_order_release);
  } else if (!found) {
    count_loss(Loss::ThreadsOverLimit);
  }
  if (found) {
    recycle(found);
    map_alternate_stack(&found->alternate);
    found->phase.store(Phase::Starting, std::memory_order_release);
  }
  pthread_mutex_unlock(&lock);
  return found;
}

void give_back(Thread* thread) { thread->phase.store(Phase::Free, std::memory_order_release); }

void begin_thread(Thread* thread, log::ThreadKind kind) {
  thread->tid = thread_id();
  thread->pthread = pthread_self();
  thread->kind = kind;
  thread->start_ns = mono_ns();
  thread->random = (static_cast<uint64_t>(thread->tid) << 32) ^ thread->start_ns ^ 0x9e3779b97f4a7c15u;
  read_stack_bounds(thread);
  replace_adopted(thread);
  self = thread;
  thread->phase.store(Phase::Live, std::memory_order_release);
  install_alternate_stack(thread->alternate);
  arm_current(thread);
  adopt_inherited_mask();
}

void end_thread() {
  Thread* thread = self;
  if (!thread) return;
  disarm_current(thread);
  self = nullptr;
  const bool filtered = is_filtered();
  if (filtered || !remove_alternate_stack()) thread->alternate = {};
  if (!filtered) prctl(PR_GET_NAME, thread->name);
  thread->end_ns = mono_ns();
  thread->end_cpu_ns = filtered ? thread->accounted_ns.load(std::memory_order_relaxed) : thread_cpu_ns();
  // First the end, then the look around: of two threads that end together at least one sees that nobody is left. Both
  // may; stopping twice is stopping once.
  thread->phase.store(Phase::Ended, std::memory_order_seq_cst);
  const bool last = !other_threads_live(thread);
  // A process ends with its last thread, and libc counts ours: it must go first, or the process would
  // never end (main that leaves by pthread_exit; a child forked from another thread than main).
  if (last) {
    agent_stop(log::EndReason::Exit);
    see_background_off();
    end_dormant();
  } else if (ended.fetch_add(1, std::memory_order_relaxed) % kDrainAtEnded == kDrainAtEnded - 1) {
    wake_background();
  }
}

uint32_t thread_slots() { return slot_count.load(std::memory_order_acquire); }
Thread* thread_at(uint32_t slot) { return slots[slot].load(std::memory_order_acquire); }

bool other_threads_live(const Thread* except) {
  for (uint32_t i = 0; i < thread_slots(); i++) {
    Thread* thread = thread_at(i);
    Phase phase = thread->phase.load(std::memory_order_seq_cst);
    // A bare clone is none of libc's; and one that has not ticked yet may be such a one.
    if (thread->variables.load(std::memory_order_acquire) != ThreadVariables::Own) continue;
    if (thread != except && (phase == Phase::Live || phase == Phase::Starting)) return true;
  }
  return false;
}

bool is_known_tid(int tid) {
  for (uint32_t i = 0; i < thread_slots(); i++) {
    Thread* thread = thread_at(i);
    if (thread->tid == tid && thread->phase.load(std::memory_order_acquire) != Phase::Free) return true;
  }
  return false;
}

uint64_t thread_memory_bytes() { return thread_slots() * (mapping_bytes() + alternate_stack_bytes()); }

void registry_before_fork() { pthread_mutex_lock(&lock); }
void registry_after_fork_in_parent() { pthread_mutex_unlock(&lock); }

Thread* registry_after_fork_in_child() {
  pthread_mutex_init(&lock, nullptr);
  for (uint32_t i = 0; i < thread_slots(); i++) {
    Thread* thread = thread_at(i);
    if (thread->phase.load(std::memory_order_relaxed) != Phase::Free) forget_engine(thread);
    if (thread != self) thread->phase.store(Phase::Free, std::memory_order_relaxed);
  }
  adopted_after_fork();
  next_number.store(0, std::memory_order_relaxed);
  if (self) {
    StackBounds stack = self->stack;
    recycle(self);
    self->stack = stack;
    self->tid = thread_id();
    self->kind = log::ThreadKind::Main;
    self->start_ns = mono_ns();
    self->samples.store(0, std::memory_order_relaxed);
    self->handler_ns.store(0, std::memory_order_relaxed);
  }
  return self;
}

}  // namespace sonde
