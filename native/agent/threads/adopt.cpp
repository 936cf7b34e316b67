#include "threads/adopt.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>

#include "arch/arch.h"
#include "background/background.h"
#include "common/clock.h"
#include "common/maps.h"
#include "common/system.h"
#include "engine/cpu_timer.h"
#include "engine/engine.h"
#include "engine/shared_rate.h"
#include "log/loss.h"
#include "process/confined.h"
#include "signals/alternate_stack.h"
#include "signals/shared.h"
#include "threads/create.h"
#include "threads/own.h"
#include "threads/registry.h"

namespace sonde {
namespace {

constexpr size_t kMostCandidates = 256;

int candidates[kMostCandidates];  // unknown at the last look
size_t candidate_count = 0;
std::atomic<uint32_t> adopted_now{0};
std::atomic<bool> stacks_come{false};

bool clock_of(int tid, uint64_t* cpu_ns) {
  timespec cpu = {};
  if (clock_gettime(thread_cpu_clock(tid), &cpu) != 0) return false;
  *cpu_ns = static_cast<uint64_t>(cpu.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(cpu.tv_nsec);
  return true;
}

// The folder of tasks has a link for each of them: a look without reading it.
bool all_are_known() {
  struct stat tasks = {};
  if (stat("/proc/self/task", &tasks) != 0) return true;
  uint64_t known = (background_exists() ? 1u : 0u) + static_cast<uint64_t>(own_thread_count());
  for (uint32_t i = 0; i < thread_slots(); i++) {
    known += thread_at(i)->phase.load(std::memory_order_acquire) == Phase::Live;
  }
  return tasks.st_nlink == known + 2;
}

bool was_candidate(int tid) {
  for (size_t i = 0; i < candidate_count; i++) {
    if (candidates[i] == tid) return true;
  }
  return false;
}

size_t read_task_file(int tid, const char* name, char* out, size_t capacity) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, name);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t bytes = read(fd, out, capacity - 1);
  close(fd);
  out[bytes > 0 ? bytes : 0] = 0;
  return bytes > 0 ? static_cast<size_t>(bytes) : 0;
}

// A helper of the kernel's (io_uring) never comes back to user code. And a main thread that has left stays in the list
// until the process ends.
bool runs_user_code(int tid) {
  char text[256];  // «tid (name) state ...», and a name may hold brackets
  if (!read_task_file(tid, "stat", text, sizeof text)) return false;
  const char* name = std::strchr(text, '(');
  const char* behind = std::strrchr(text, ')');
  return name && behind && behind[1] && behind[2] != 'Z' && behind[2] != 'X' && std::strncmp(name, "(iou-", 5);
}

bool blocks_sample_signal(int tid) {
  char text[4096];
  read_task_file(tid, "status", text, sizeof text);
  const char* line = std::strstr(text, "\nSigBlk:");
  return line && strtoull(line + 8, nullptr, 16) >> (kSampleSignal - 1) & 1;
}

// A thread that ended for us and still runs the destructors of others: what it used before is in the log.
uint64_t already_logged(int tid, uint64_t cpu_ns) {
  for (uint32_t i = 0; i < thread_slots(); i++) {
    const Thread* thread = thread_at(i);
    if (thread->tid == tid && thread->phase.load(std::memory_order_acquire) == Phase::Free &&
        thread->end_cpu_ns <= cpu_ns) {
      return thread->end_cpu_ns;
    }
  }
  return 0;
}

void arm(Thread* thread) {
  if (blocks_sample_signal(thread->tid)) {
    count_loss(Loss::ThreadsUnknown);
    if (stacks_come.load(std::memory_order_relaxed)) return;  // a visitor must not leave a tick behind that waits there
  }
  // Of the engines the timer alone: descriptors that are opened here are not the program's.
  thread->engine = timer_engine();
  if (thread->engine->arm(thread, current_rate_hz())) return;
  thread->engine = nullptr;
  count_loss(Loss::ThreadsNotArmed);
}

bool adopt(int tid, EarlierTime earlier) {
  uint64_t cpu_ns = 0;
  if (!clock_of(tid, &cpu_ns) || !runs_user_code(tid)) return false;
  const uint64_t logged_ns = already_logged(tid, cpu_ns);
  Thread* thread = take_thread();
  if (!thread) return false;
  thread->adopted = true;
  thread->variables.store(ThreadVariables::Unknown, std::memory_order_relaxed);
  thread->tid = tid;
  if (tid == process_id()) thread->kind = log::ThreadKind::Main;
  thread->pthread = 0;
  thread->routine = nullptr;
  thread->stack = StackBounds{};
  thread->start_ns = mono_ns();
  thread->random = (static_cast<uint64_t>(tid) << 32) ^ thread->start_ns ^ 0x9e3779b97f4a7c15u;
  thread->accounted_ns.store(cpu_ns, std::memory_order_relaxed);
  thread->unseen_cpu_ns = earlier == EarlierTime::Counts ? cpu_ns - logged_ns : 0;
  adopted_now.fetch_add(1, std::memory_order_relaxed);
  // Behind a filter, entering it would take system calls; it was counted when it began.
  const bool filtered = is_filtered();
  const bool later = !filtered && stacks_come.load(std::memory_order_relaxed);
  thread->awaits_stack = later;
  thread->phase.store(Phase::Live, std::memory_order_release);
  if (!filtered && !later) arm(thread);
  return true;
}

void end_adopted(Thread* thread) {
  disarm_current(thread);
  thread->end_ns = mono_ns();
  thread->end_cpu_ns = thread->accounted_ns.load(std::memory_order_relaxed);
  Phase expected = Phase::Live;
  thread->phase.compare_exchange_strong(expected, Phase::Ended, std::memory_order_acq_rel);
}

// The mapping that holds its stack pointer; libc puts a thread's own description at the upper end.
void find_stack(Thread* thread, uint64_t sp) {
  MapsReader maps;
  for (MapsLine line; maps.next(&line);) {
    if (sp < line.low || sp >= line.high) continue;
    thread->stack.low = line.low;  // a handler in between takes it for a foreign stack, as before
    std::atomic_signal_fence(std::memory_order_seq_cst);
    thread->stack.high = thread->pthread > sp && thread->pthread < line.high ? thread->pthread : line.high;
    return;
  }
}

// Whose thread-local variables are at `base`?
ThreadVariables judge(uint64_t base, int tid) {
  if (!is_thread_block(base)) return ThreadVariables::None;
  clockid_t clock = 0;  // made from the number of the thread that libc has there
  if (pthread_getcpuclockid(static_cast<pthread_t>(base), &clock) != 0) return ThreadVariables::None;
  if (clock == thread_cpu_clock(tid)) return ThreadVariables::Own;
  const int other = ~(static_cast<int>(clock) >> 3);
  return other > 0 && is_known_tid(other) ? ThreadVariables::Borrowed : ThreadVariables::None;
}

}  // namespace

uint32_t adopt_unknown_threads(EarlierTime earlier, Certainty certainty) {
  if (all_are_known()) {
    candidate_count = 0;
    return 0;
  }
  DIR* tasks = opendir("/proc/self/task");
  if (!tasks) return 0;
  const int own = thread_id();
  int unknown[kMostCandidates];
  size_t count = 0;
  uint32_t adopted = 0;
  while (const dirent* entry = readdir(tasks)) {
    const int tid = atoi(entry->d_name);
    if (tid <= 0 || tid == own || is_known_tid(tid) || is_background_tid(tid) || is_own_tid(tid)) continue;
    if ((certainty == Certainty::Now || was_candidate(tid)) && adopt(tid, earlier)) {
      adopted++;
    } else if (count < kMostCandidates) {
      unknown[count++] = tid;
    }
  }
  closedir(tasks);
  std::memcpy(candidates, unknown, count * sizeof unknown[0]);
  candidate_count = count;
  return adopted;
}

void stacks_will_come(bool on) { stacks_come.store(on, std::memory_order_relaxed); }

void arm_with_stack(Thread* thread, uint64_t thread_pointer) {
  if (!thread->awaits_stack || thread->phase.load(std::memory_order_acquire) != Phase::Live) return;
  thread->awaits_stack = false;
  thread->pthread = thread_pointer;
  thread->variables.store(ThreadVariables::Own, std::memory_order_release);
  arm(thread);
}

void arm_known(Thread* thread) { arm(thread); }

void give_up_stack(Thread* thread) {
  thread->awaits_stack = false;
  thread->variables.store(ThreadVariables::None, std::memory_order_release);
  count_loss(Loss::ThreadsUnknown);
}

void tend_adopted_threads() {
  if (adopted_now.load(std::memory_order_relaxed) == 0) return;
  uint32_t live = 0;
  for (uint32_t i = 0; i < thread_slots(); i++) {
    Thread* thread = thread_at(i);
    if (!thread->adopted || thread->phase.load(std::memory_order_acquire) != Phase::Live) continue;
    uint64_t unused;
    if (!clock_of(thread->tid, &unused)) {
      end_adopted(thread);
      continue;
    }
    live++;
    if (thread->variables.load(std::memory_order_acquire) == ThreadVariables::None) disarm_current(thread);
    const uint64_t sp = thread->seen_sp.load(std::memory_order_acquire);
    if (sp && thread->stack.high == 0) find_stack(thread, sp);
  }
  adopted_now.store(live, std::memory_order_relaxed);
}

void replace_adopted(Thread* known) {
  if (adopted_now.load(std::memory_order_relaxed) == 0) return;
  for (uint32_t i = 0; i < thread_slots(); i++) {
    Thread* thread = thread_at(i);
    if (thread == known || !thread->adopted || thread->tid != known->tid) continue;
    if (thread->phase.load(std::memory_order_acquire) != Phase::Live) continue;
    end_adopted(thread);
    known->accounted_ns.store(thread->end_cpu_ns, std::memory_order_relaxed);
  }
}

void adopted_after_fork() {
  candidate_count = 0;
  adopted_now.store(0, std::memory_order_relaxed);
}

Thread* adopted_thread(const siginfo_t* info) {
  const int slot = timer_slot(info);
  return slot >= 0 && static_cast<uint32_t>(slot) < thread_slots() ? thread_at(static_cast<uint32_t>(slot)) : nullptr;
}

bool enter_adopted(Thread* thread, void* context) {
  ThreadVariables variables = thread->variables.load(std::memory_order_relaxed);
  if (variables == ThreadVariables::Unknown && is_filtered()) return false;
  if (variables == ThreadVariables::Unknown) {
    uint64_t base = 0;
    const int tid = thread_id();  // a system call that succeeds leaves errno alone
    if (tid != thread->tid || !thread_pointer(&base)) return false;
    variables = judge(base, tid);
    if (variables == ThreadVariables::None) count_loss(Loss::ThreadsUnknown);
    if (variables == ThreadVariables::Own) {
      if (current_thread()) return false;  // it registered itself meanwhile
      thread->pthread = base;
      set_current_thread(thread);
      watch_this_thread();
      // Takes effect when this handler returns. Not for borrowed variables: what is noted there is the creator's.
      offer_alternate_stack(thread->alternate, static_cast<ucontext_t*>(context));
    }
    thread->variables.store(variables, std::memory_order_release);
  }
  if (!thread->seen_sp.load(std::memory_order_relaxed)) {
    thread->seen_sp.store(sp_of(static_cast<const ucontext_t*>(context)), std::memory_order_release);
  }
  return variables != ThreadVariables::None;
}

}  // namespace sonde
