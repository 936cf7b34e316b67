#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

#include "jit/regions.h"
#include "libraries.h"
#include "memory.h"
#include "python/frames.h"
#include "stop.h"
#include "unwind/walk.h"

// The process that is looked at has no log.
void sonde::note_generated_code(uint64_t) {}

namespace sonde::dump {
namespace {

constexpr unsigned kTries = 3;
constexpr uint64_t kMostStackBytes = 512u << 10;  // that are copied while a thread is stopped

struct Blocked {
  bool gone = false, running = false;
  int64_t system_call = -1;
  uint64_t argument[6] = {};
  uint64_t sp = 0, pc = 0;
  bool operator==(const Blocked&) const = default;
};

// "NR ARG0 … ARG5 SP PC", "-1 SP PC" outside a system call, or "running".
Blocked read_blocked(int pid, int tid) {
  Blocked out;
  char path[64], text[256];
  snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", pid, tid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (bytes <= 0) {
    out.gone = true;
    return out;
  }
  text[bytes] = 0;
  out.running = text[0] == 'r';
  if (out.running) return out;
  uint64_t words[9] = {};
  unsigned count = 0;
  for (char* at = text; count < 9; count++) {
    char* end = nullptr;
    words[count] = count == 0 ? static_cast<uint64_t>(strtoll(at, &end, 10)) : strtoull(at, &end, 16);
    if (end == at) break;
    at = end;
  }
  if (count != 9 && count != 3) {
    out.gone = true;
    return out;
  }
  out.system_call = static_cast<int64_t>(words[0]);
  if (count == 9) std::memcpy(out.argument, words + 1, sizeof out.argument);
  out.sp = words[count - 2];
  out.pc = words[count - 1];
  return out;
}

uint64_t now_ns() {
  timespec t = {};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// Urgent while it lives, where that is allowed: a thread that is stopped does not wait for our turn on a busy CPU.
class Urgent {
 public:
  Urgent() {
    const sched_param first = {1};
    urgent_ = sched_getscheduler(0) == SCHED_OTHER && sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) == 0;
  }
  ~Urgent() {
    const sched_param usual = {0};
    if (urgent_) sched_setscheduler(0, SCHED_OTHER, &usual);
  }
  Urgent(const Urgent&) = delete;
  Urgent& operator=(const Urgent&) = delete;

 private:
  bool urgent_;
};

StackBounds stack_of(const Registers& registers) {
  const Mapping* one = mapping_at(registers.sp());
  return one ? StackBounds{one->low, one->high} : StackBounds{};
}

void read_python(const PythonThread* python, ThreadStacks* out) {
  static PythonFrame frames[kMostFrames];
  if (!python) return;
  const PythonWalk walked = python_walk(reinterpret_cast<void*>(python->state), frames, kMostFrames);
  out->python_failed = walked.failed;
  out->python_count = walked.count;
  for (unsigned i = 0; i < walked.count; i++) {
    out->code[i] = frames[i].code;
    out->instruction[i] = frames[i].instruction;
    out->entry[i] = frames[i].entry;
  }
}

void read_native(const Registers& registers, const Anchor& anchor, ThreadStacks* out) {
  static NativeFrame native[kMostFrames];
  Walk walk(stack_of(registers), anchor, nullptr, native, kMostFrames);
  const WalkResult result = walk.run(registers, true);
  out->native_end = static_cast<int32_t>(result.end);
  out->native_count = result.count;
  for (unsigned i = 0; i < result.count; i++) {
    out->pc[i] = native[i].pc;
    out->flags[i] = native[i].flags;
  }
}

Anchor anchor_of(const PythonThread* python, const Registers& registers) {
  return python ? python_anchor(reinterpret_cast<void*>(python->state), stack_of(registers)) : Anchor{};
}

// All that changes is read while the thread is stopped; it goes on before its native stack is walked, which may have to
// read unwind tables from disk.
void read_running(int tid, const PythonThread* python, ThreadStacks* out) {
  Registers registers;
  Anchor anchor;
  {
    const Urgent urgent;
    const Stop stop(tid);
    const uint64_t began = now_ns();
    forget_changing_memory();
    if (!stop.registers(&registers)) {
      out->how = stop.error() == ESRCH ? How::Gone : How::NotStopped;
      out->error = stop.error();
      return;
    }
    const uint64_t low = registers.sp() - kRedZoneBytes, high = stack_of(registers).high;
    keep_memory(low, high > low && high - low < kMostStackBytes ? high - low : kMostStackBytes);
    anchor = anchor_of(python, registers);
    read_python(python, out);
    out->stop_ns = now_ns() - began;
  }
  out->how = How::Stopped;
  read_native(registers, anchor, out);
}

}  // namespace

void read_thread(int pid, int tid, const PythonThread* python, ThreadStacks* out) {
  for (unsigned attempt = 0; attempt < kTries; attempt++) {
    std::memset(static_cast<void*>(out), 0, offsetof(ThreadStacks, pc));
    out->tid = tid;
    out->has_python = python != nullptr;
    out->holds_gil = python && python->holds_gil;
    const Blocked blocked = read_blocked(pid, tid);
    out->system_call = blocked.system_call;
    std::memcpy(out->argument, blocked.argument, sizeof out->argument);
    if (blocked.gone) {
      out->how = How::Gone;
      return;
    }
    if (blocked.running) return read_running(tid, python, out);
    forget_changing_memory();
    Registers registers;
    registers.set(Registers::kPc, blocked.pc);
    registers.set(Registers::kSp, blocked.sp);
    read_native(registers, anchor_of(python, registers), out);
    read_python(python, out);
    out->moved = !(read_blocked(pid, tid) == blocked);
    if (!out->moved) return;
  }
}

}  // namespace sonde::dump
