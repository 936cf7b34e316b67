// What sonde/record/outside/attach calls, in a process of its own: when that ends, the kernel lets go of every thread.
//
// The program's threads are stopped twice and shortly: one maps memory, one makes a bare clone. The clone calls
// pthread_create and ends; that thread, one like any other of the program, loads the agent and waits for whatever
// locks it meets. No running thread ever executes foreign code, and no code of the program is changed.
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "block.h"
#include "remote.h"
#include "stub.h"
#include "thread_block.h"
#include "tracee.h"

#define SONDE_API extern "C" __attribute__((visibility("default")))

using namespace sonde;
using namespace sonde::attach;

namespace {

enum Outcome : int32_t {
  kAttached = 0, kNoLibc = 1, kNotAllowed = 2, kNoThreadStops = 3, kNoMemory = 4, kNoClone = 5, kNoThread = 6,
  kNotLoaded = 7, kNoEntry = 8, kTookTooLong = 9, kAgentRefuses = 10, kGone = 11, kUnknownLibc = 12,
};

struct Result {
  int32_t outcome, error;
  uint64_t stop_ns;   // the longest stop of a thread
  uint64_t whole_ns;
  char text[512];
};

// One thread's alternate signal stack and the agent's thread-local variables: only a stopped thread's can be set.
struct StackOrder {
  int32_t tid, error;
  uint64_t low, high;            // the stack that it shall have; 0: back to the program's own
  uint64_t self;                 // for the agent's variable; 0 with the stack
  uint64_t thread_pointer;       // out
};

constexpr uint64_t kStackBytes = 64u << 10, kDataBytes = 16u << 10, kCodeBytes = 4096;
constexpr uint64_t kPagesBytes = kDataBytes + kStackBytes + kVariablesBytes + kBlockBytes + kCodeBytes;
static_assert(sizeof(AttachBlock) <= kDataBytes);
constexpr uint64_t kStopWithinNs = 300'000'000;
constexpr long kLookEveryNs = 200'000;

struct Candidate {
  int tid, rank;
};

size_t read_text(const char* path, char* out, size_t capacity) {
  FILE* file = fopen(path, "re");
  if (!file) return 0;
  const size_t size = fread(out, 1, capacity - 1, file);
  fclose(file);
  out[size] = 0;
  return size;
}

// Best a thread that runs, or waits in a call that the kernel restarts by itself.
int rank_of(int pid, int tid) {
  char path[64], text[256];
  snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
  if (!read_text(path, text, sizeof text)) return 9;
  const char* behind = std::strrchr(text, ')');
  const char state = behind && behind[1] ? behind[2] : '?';
  if (state == 'Z' || state == 'X' || std::strstr(text, "(iou-")) return 9;
  if (state == 'D') return 3;
  snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", pid, tid);
  if (!read_text(path, text, sizeof text) || text[0] == 'r' || text[0] == '-') return state == 'R' ? 1 : 2;
  switch (atoi(text)) {
    case SYS_futex: case SYS_poll: case SYS_select: case SYS_nanosleep: case SYS_clock_nanosleep: return 0;
    case SYS_epoll_wait: case SYS_epoll_pwait: case SYS_rt_sigtimedwait: case SYS_semop: case SYS_msgrcv: return 4;
    default: return 2;
  }
}

std::vector<Candidate> candidates_of(int pid) {
  std::vector<Candidate> found;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR* tasks = opendir(path);
  while (const dirent* entry = tasks ? readdir(tasks) : nullptr) {
    const int tid = atoi(entry->d_name);
    const int rank = tid > 0 ? rank_of(pid, tid) : 9;
    if (rank < 9) found.push_back({tid, rank});
  }
  if (tasks) closedir(tasks);
  std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) { return a.rank < b.rank; });
  return found;
}

// A thread that is stopped waits for this one: it should get a CPU at once.
void hurry(bool on) {
  sched_param priority = {};
  priority.sched_priority = on ? 1 : 0;
  sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &priority);
}

// Calls `work` with the first thread that stops. The error of the last one that did not; 0: it was called.
template <typename Work>
int with_stopped(int pid, Patience* patience, uint64_t* stop_ns, Work work) {
  int error = ESRCH;
  for (const Candidate& one : candidates_of(pid)) {
    uint64_t since_ns = 0;
    {
      Tracee thread(pid, one.tid, patience, kStopWithinNs);
      error = thread.error();
      if (!error) {
        since_ns = thread.stopped_since_ns();
        work(thread, one.tid);
      }
    }
    if (!error) {
      *stop_ns = std::max(*stop_ns, now_ns() - since_ns);
      return 0;
    }
    if (error == EPERM) return error;
  }
  return error;
}

int32_t outcome_of(const AttachBlock& seen, Result* result) {
  std::memcpy(result->text, seen.answer, sizeof result->text);
  result->error = seen.error;
  switch (static_cast<AttachStage>(seen.stage)) {
    case AttachStage::NoThread: return kNoThread;
    case AttachStage::NotLoaded: return kNotLoaded;
    case AttachStage::NoEntry: return kNoEntry;
    case AttachStage::Done: return seen.result ? kAgentRefuses : kAttached;
    default: return kTookTooLong;
  }
}

// Until the agent is in, or has said why not.
int32_t wait_for_agent(const Memory& memory, uint64_t data, uint64_t end_ns, Result* result) {
  AttachBlock seen = {};
  for (;;) {
    if (!memory.read(data, &seen, sizeof seen)) return kGone;
    const auto stage = static_cast<AttachStage>(seen.stage);
    const bool over = stage != AttachStage::Nothing && stage != AttachStage::Loading && stage != AttachStage::Entered;
    if (over) return outcome_of(seen, result);
    if (now_ns() >= end_ns) break;
    const timespec pause = {0, kLookEveryNs};
    nanosleep(&pause, nullptr);
  }
  const uint32_t cancelled = 1;
  memory.write(data + offsetof(AttachBlock, cancelled), &cancelled, sizeof cancelled);
  return kTookTooLong;
}

struct Pages {
  uint64_t start = 0;
  uint64_t data() const { return start; }
  uint64_t stack_top() const { return start + kDataBytes + kStackBytes; }
  uint64_t block() const { return stack_top() + kVariablesBytes; }
  uint64_t code() const { return block() + kBlockBytes; }
};

int32_t map_pages(int pid, const Libc& libc, bool kept, Patience* patience, Pages* pages, uint64_t* thread, int* tid, Result* result) {
  int64_t at = kept ? 0 : -1;
  bool called = false;
  const int error = with_stopped(pid, patience, &result->stop_ns, [&](Tracee& stopped, int stopped_tid) {
    called = kept || stopped.call(libc.system_call, SYS_mmap,
                          {0, kPagesBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~uint64_t{0}, 0},
                          &at);
    *thread = stopped.thread_pointer();
    *tid = stopped_tid;
  });
  result->error = error ? error : static_cast<int32_t>(at < 0 && at > -4096 ? -at : 0);
  if (error) return error == EPERM ? kNotAllowed : error == ESRCH ? kGone : kNoThreadStops;
  if (!called) return kGone;
  if (result->error) return kNoMemory;
  if (!kept) pages->start = static_cast<uint64_t>(at);
  return kAttached;
}

bool fill_block(const Memory& memory, const Libc& libc, const Pages& pages, const char* library, const char* request) {
  AttachBlock block = {};
  const auto as = [](auto& field, uint64_t address) {
    field = reinterpret_cast<std::remove_reference_t<decltype(field)>>(address);
  };
  const uint64_t stub = pages.code() + kCloneCodeBytes;
  as(block.pthread_create, libc.pthread_create);
  as(block.pthread_detach, libc.pthread_detach);
  as(block.dlopen, libc.dlopen);
  as(block.dlsym, libc.dlsym);
  as(block.dlerror, libc.dlerror);
  as(block.main, stub + stub_offset(reinterpret_cast<const void*>(&sonde_stub_thread)));
  block.sacrificial = 1;
  block.pages = pages.start;
  block.pages_bytes = kPagesBytes;
  snprintf(block.entry, sizeof block.entry, "%s", kAttachEntry);
  snprintf(block.library, sizeof block.library, "%s", library);
  snprintf(block.request, sizeof block.request, "%s", request);
  return memory.write(pages.data(), &block, sizeof block);
}

bool fill_pages(const Memory& memory, int pid, const Libc& libc, const Pages& pages, uint64_t thread) {
  return memory.write(pages.code(), clone_code(), kCloneCodeBytes) &&
         memory.write(pages.code() + kCloneCodeBytes, stub_bytes(), stub_size()) &&
         write_thread_block(memory, pid, pages.block(), thread, libc.loader_list);
}

int32_t start_clone(int pid, const Libc& libc, const Pages& pages, uint64_t number_at, Patience* patience, Result* result) {
  int64_t protected_ = -1, made = -1;
  bool called = false;
  const uint64_t start =
      pages.code() + kCloneCodeBytes + stub_offset(reinterpret_cast<const void*>(&sonde_stub_first));
  const int error = with_stopped(pid, patience, &result->stop_ns, [&](Tracee& stopped, int) {
    called = stopped.call(libc.system_call, SYS_mprotect, {pages.code(), kCodeBytes, PROT_READ | PROT_EXEC, 0, 0, 0}, &protected_);
    if (!called || protected_ != 0) return;
    called = stopped.clone(pages.code(), pages.stack_top() - 64, pages.block(), pages.block() + number_at,
                           pages.data() + offsetof(AttachBlock, sacrificial), start, pages.data(), &made);
  });
  result->error = error ? error : static_cast<int32_t>(protected_ ? -protected_ : made < 0 ? -made : 0);
  if (error) return error == EPERM ? kNotAllowed : error == ESRCH ? kGone : kNoThreadStops;
  return !called ? kGone : protected_ ? kNoMemory : made <= 0 ? kNoClone : kAttached;
}

// Is it what an earlier visit left, and nobody uses it now? Then the first thread's variables are there as well, as the
// program's malloc knows them.
bool is_kept(const Memory& memory, const Pages& pages) {
  AttachBlock block = {};
  uint8_t code[2048] = {};
  return pages.start && memory.read(pages.data(), &block, sizeof block) && block.pages == pages.start &&
         block.pages_bytes == kPagesBytes && block.sacrificial == 0 && stub_size() < sizeof code &&
         memory.read(pages.code() + kCloneCodeBytes, code, stub_size()) &&
         std::memcmp(code, stub_bytes(), stub_size()) == 0;
}

void unmap(int pid, const Libc& libc, const Pages& pages, Patience* patience, Result* result) {
  int64_t unused = 0;
  with_stopped(pid, patience, &result->stop_ns, [&](Tracee& stopped, int) {
    stopped.call(libc.system_call, SYS_munmap, {pages.start, kPagesBytes, 0, 0, 0, 0}, &unused);
  });
}

int32_t inject(int pid, const char* library, const char* request, uint64_t end_ns, Result* result) {
  static_assert(kCloneCodeBytes + 2048 < kCodeBytes);
  const Libc libc = find_libc(pid);
  if (libc.missing) {
    snprintf(result->text, sizeof result->text, "%s", libc.missing);
    return kNoLibc;
  }
  const Memory memory(pid);
  if (!memory.is_open()) {
    result->error = errno;
    return kNotAllowed;
  }
  Patience patience;
  Pages pages;
  uint64_t thread = 0;
  int tid = 0;
  hurry(true);
  pages.start = libc.kept_pages;
  const bool kept = is_kept(memory, pages);
  int32_t outcome = map_pages(pid, libc, kept, &patience, &pages, &thread, &tid, result);
  if (outcome != kAttached) return outcome;
  const uint64_t number_at = number_offset(memory, thread, tid);
  if (!number_at || !(kept || fill_pages(memory, pid, libc, pages, thread)) ||
      !fill_block(memory, libc, pages, library, request)) {
    outcome = kUnknownLibc;
  } else {
    outcome = start_clone(pid, libc, pages, number_at, &patience, result);
  }
  if (outcome != kAttached) {  // nothing has begun: nobody else will
    if (!kept) unmap(pid, libc, pages, &patience, result);
    return outcome;
  }
  hurry(false);
  return wait_for_agent(memory, pages.data(), end_ns, result);
}

constexpr uint64_t kDisabled = 2;             // SS_DISABLE
constexpr uint64_t kAutoDisarm = 1u << 31;    // SS_AUTODISARM

struct KernelStack {  // stack_t
  uint64_t low, flags, size;
};

struct OwnStacks {  // the first fields of the agent's `Stacks`
  uint64_t own_low, own_high, program_low, program_high;
};

struct StackChange {
  const Memory& memory;
  Tracee& thread;
  uint64_t system_call, scratch;
  int64_t self_at, stacks_at;

  int set(const KernelStack* wanted, KernelStack* had) const {
    int64_t result = -1;
    const uint64_t next = wanted ? scratch : 0, previous = scratch + sizeof *wanted;
    if (wanted && !memory.write(scratch, wanted, sizeof *wanted)) return EIO;
    if (!thread.call(system_call, SYS_sigaltstack, {next, previous, 0, 0, 0, 0}, &result)) return EIO;
    if (result < 0) return static_cast<int>(-result);
    if (!memory.read(previous, had, sizeof *had)) return EIO;
    had->flags &= 0xffffffff;
    return 0;
  }

  int write_variables(uint64_t self, const OwnStacks& stacks) const {
    const uint64_t base = thread.thread_pointer();
    const bool done = memory.write(base + static_cast<uint64_t>(stacks_at), &stacks, sizeof stacks) &&
                      memory.write(base + static_cast<uint64_t>(self_at), &self, sizeof self);
    return done ? 0 : EIO;
  }

  int give(const StackOrder& order) const {
    const uint64_t base = thread.thread_pointer();
    uint64_t head[3] = {};
    // A bare clone may have its creator's variables, or none.
    if (!memory.read(base, head, sizeof head) || head[0] != base || head[2] != base) return ENOTSUP;
    if (!number_offset(memory, base, order.tid)) return ENOTSUP;
    KernelStack had = {};
    const KernelStack wanted = {order.low, 0, order.high - order.low};
    if (const int error = set(&wanted, &had)) return error;
    if (had.flags & kAutoDisarm) {
      KernelStack unused = {};
      set(&had, &unused);
      return ENOTSUP;
    }
    const bool none = had.flags & kDisabled;
    return write_variables(order.self, {order.low, order.high, none ? 0 : had.low, none ? 0 : had.low + had.size});
  }

  int take(const StackOrder&) const {
    OwnStacks stacks = {};
    KernelStack had = {};
    if (!memory.read(thread.thread_pointer() + static_cast<uint64_t>(stacks_at), &stacks, sizeof stacks)) return EIO;
    if (!stacks.own_high) return write_variables(0, {});
    if (const int error = set(nullptr, &had)) return error;
    if (!(had.flags & kDisabled) && had.low == stacks.own_low) {
      const bool none = stacks.program_high == 0;
      const KernelStack wanted = {stacks.program_low, none ? kDisabled : 0, stacks.program_high - stacks.program_low};
      if (const int error = set(&wanted, &had)) return error;
    }
    return write_variables(0, {});
  }
};

}  // namespace

// Puts the library into the process and calls its entry with `request`. At most `limit_ms`.
SONDE_API void sonde_attach_inject(int pid, const char* library, const char* request, int limit_ms, Result* result) {
  *result = Result{};
  const uint64_t start_ns = now_ns();
  result->outcome = inject(pid, library, request, start_ns + static_cast<uint64_t>(limit_ms) * 1'000'000, result);
  hurry(false);
  result->whole_ns = now_ns() - start_ns;
}

// Gives threads an alternate signal stack of the agent's, or takes it away. Each is stopped for a system call or two.
// `scratch`: 64 bytes of the process's memory; `self_at`, `stacks_at`: where from a thread pointer the agent's variables
// lie (threads/registry.cpp, signals/alternate_stack.cpp). Returns the longest stop.
SONDE_API uint64_t sonde_attach_stacks(int pid, uint64_t scratch, int64_t self_at, int64_t stacks_at, StackOrder* orders,
                                       int count) {
  uint64_t longest_ns = 0;
  const Libc libc = find_libc(pid);
  const Memory memory(pid);
  const bool possible = libc.system_call && memory.is_open();
  Patience patience;
  hurry(true);
  for (int i = 0; i < count; i++) {
    StackOrder& order = orders[i];
    order.error = EACCES;
    if (!possible) continue;
    uint64_t since_ns = 0;
    {
      Tracee thread(pid, order.tid, &patience, kStopWithinNs);
      order.error = thread.error();
      if (order.error) continue;
      since_ns = thread.stopped_since_ns();
      order.thread_pointer = thread.thread_pointer();
      const StackChange change = {memory, thread, libc.system_call, scratch, self_at, stacks_at};
      order.error = order.low ? change.give(order) : change.take(order);
    }
    longest_ns = std::max(longest_ns, now_ns() - since_ns);
  }
  hurry(false);
  return longest_ns;
}
