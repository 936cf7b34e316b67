#include "pools/origin.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "pools/graph_task.h"
#include "pools/inter_op.h"
#include "python/frames.h"
#include "sample/record.h"

namespace sonde {
namespace {

constexpr uint32_t kOwnNative = 320, kOwnPython = 160;

// A guarded read that faults while the signal is blocked would kill the program.
bool faults_are_blocked() {
  constexpr uint64_t kFaults = (uint64_t{1} << (SIGSEGV - 1)) | (uint64_t{1} << (SIGBUS - 1));
  uint64_t blocked = 0;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &blocked, sizeof blocked);
  return (blocked & kFaults) != 0;
}

void append_native(const Registers& registers, void* python_state, Origin* out) {
  NativeFrame frames[kOwnNative];
  const StackBounds stack = current_stack_bounds();
  const Anchor anchor = python_state ? python_anchor(python_state, stack) : Anchor{};
  // No rule cache: the thread's own belongs to its signal handler, which may come at any moment.
  const WalkResult walked = walk(registers, stack, anchor, nullptr, false, frames, kOwnNative);
  for (uint32_t i = 0; i < walked.count; i++) out->words[i] = pack(frames[i]);
  out->native = walked.count;
  out->walk_end = static_cast<uint8_t>(walked.end);
}

void append_python(void* python_state, Origin* out) {
  PythonFrame frames[kOwnPython];
  const PythonWalk walked = python_walk(python_state, frames, kOwnPython);
  uint64_t* at = out->words + out->native;
  for (uint32_t i = 0; i < walked.count; i++) {
    *at++ = pack(frames[i]);
    if (frames[i].self) *at++ = frames[i].self;
  }
  out->python = walked.count;
  out->python_words = static_cast<uint16_t>(at - out->words - out->native);
}

// Puts the outer origin's frames above ours, as far as there is room for all of them.
void append_outer(const Origin& outer, Origin* out) {
  const uint32_t total = out->native + out->python_words + outer.native + outer.python_words;
  if (outer.native == 0) return;
  if (total > Origin::kWords) {
    out->walk_end = static_cast<uint8_t>(WalkEnd::Truncated);
    return;
  }
  uint64_t* python = out->words + out->native;
  std::memmove(python + outer.native, python, 8u * out->python_words);
  std::memcpy(python, outer.words, 8u * outer.native);
  *python |= uint64_t{kFrameOwner} << 56;
  out->native = static_cast<uint16_t>(out->native + outer.native);
  std::memcpy(out->words + out->native + out->python_words, outer.words + outer.native, 8u * outer.python_words);
  out->python = static_cast<uint16_t>(out->python + outer.python);
  out->python_words = static_cast<uint16_t>(out->python_words + outer.python_words);
}

}  // namespace

uint32_t Origin::size_bytes() const {
  return static_cast<uint32_t>(sizeof(Origin) - sizeof words) + 8u * (native + python_words);
}

bool capture_origin(const Registers& registers, Origin* out) {
  out->thread = current_thread_number();
  out->native = out->python = out->python_words = 0;
  if (out->thread == kNoThread || faults_are_blocked()) return false;
  void* python_state = python_thread_state();
  append_native(registers, python_state, out);
  if (python_state) append_python(python_state, out);
  uint64_t ticket = 0;
  if (const Origin* outer = current_origin(&ticket)) append_outer(*outer, out);
  return true;
}

const Origin* current_origin(uint64_t* ticket) {
  *ticket = 0;
  if (const Origin* task = inter_op_origin()) return task;
  return graph_origin(ticket);
}

bool origin_stayed(uint64_t ticket) { return ticket == 0 || graph_is_open(ticket); }

}  // namespace sonde
