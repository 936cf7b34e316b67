// The agent's Python reader alone, for a test process to load with ctypes: walk the calling
// thread at once, or from a signal handler at any instruction, and hand over what was read.
#include <dirent.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "common/guarded_memory.h"
#include "python/code_table.h"
#include "python/frames.h"

using namespace sonde;

namespace {
constexpr size_t kMaxFrames = 2048, kMaxStored = 1 << 14, kStoredFrames = 48;

void on_fault(int signal, siginfo_t*, void* context) {
  if (guarded_fault_fixup(context)) return;
  ::signal(signal, SIG_DFL);
}

struct Stored {
  PythonWalk walk;
  PythonFrame frame[kStoredFrames];
};
Stored stored[kMaxStored];
std::atomic<uint32_t> stored_count{0};

StackBounds bounds() {
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  return {reinterpret_cast<uint64_t>(low), reinterpret_cast<uint64_t>(low) + size};
}

void on_signal(int, siginfo_t*, void*) {
  const uint32_t at = stored_count.fetch_add(1);
  if (at >= kMaxStored) return;
  stored[at].walk = python_walk(python_thread_state(), stored[at].frame, kStoredFrames);
}
std::atomic<bool> storm_on{false};
int storm_period_us = 0;
pthread_t storm_thread;

void* storm(void*) {
  const auto self = static_cast<int>(syscall(SYS_gettid));
  while (storm_on) {
    DIR* tasks = opendir("/proc/self/task");
    while (dirent* task = readdir(tasks)) {
      const int tid = atoi(task->d_name);
      if (tid > 0 && tid != self) syscall(SYS_tgkill, getpid(), tid, SIGPROF);
    }
    closedir(tasks);
    usleep(static_cast<useconds_t>(storm_period_us));
  }
  return nullptr;
}
}  // namespace

#define API extern "C" __attribute__((visibility("default")))

struct Row {
  uint32_t code;
  int32_t instruction;
  uint64_t self;
  uint8_t entry;
};

API const char* harness_attach() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
  const char* why = nullptr;
  return !python_attach(&why) ? why : python_version()[0] ? "" : "there is no interpreter";
}

API const char* harness_version() { return python_version(); }

static int deliver(const PythonWalk& walk, const PythonFrame* frames, Row* rows) {
  for (size_t i = 0; i < walk.count; ++i) {
    rows[i] = {frames[i].code, frames[i].instruction, frames[i].self, frames[i].entry};
  }
  return (walk.failed ? 1 << 20 : 0) | (walk.truncated ? 1 << 21 : 0) | walk.count;
}

API int harness_walk(Row* rows, int capacity) {
  static thread_local PythonFrame frames[kMaxFrames];
  const auto wanted = static_cast<size_t>(capacity) < kMaxFrames ? static_cast<size_t>(capacity) : kMaxFrames;
  return deliver(python_walk(python_thread_state(), frames, wanted), frames, rows);
}

// Evaluation frames on the C stack by the system's own unwinder.
API int harness_eval_frames() {
  static thread_local void* pcs[kMaxFrames];
  const int n = backtrace(pcs, kMaxFrames);
  int found = 0;
  for (int i = 0; i < n; ++i) found += python_is_eval(reinterpret_cast<uint64_t>(pcs[i]) - 1);
  return found;
}

// Distance of the anchor above this function's frame; -1 when there is none.
API int64_t harness_anchor() {
  const Anchor anchor = python_anchor(python_thread_state(), bounds());
  if (anchor.address == 0) return -1;
  return static_cast<int64_t>(anchor.address - reinterpret_cast<uint64_t>(__builtin_frame_address(0)));
}

API int harness_code(uint32_t number, const char** name, uint32_t* name_size, const char** file, uint32_t* file_size,
                     const char** lines, uint32_t* lines_size, int32_t* first_line) {
  python::CodeInfo info;
  if (!python::code_info(number, &info)) return 0;
  *name = info.name, *name_size = info.name_size, *file = info.file, *file_size = info.file_size;
  *lines = info.line_table, *lines_size = info.line_table_size, *first_line = info.first_line;
  return 1;
}

API uint32_t harness_code_count() { return python::code_count(); }

// Signals every other thread of the process, round and round, about every `period_us`.
API void harness_storm_start(int period_us) {
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  storm_on = true;
  storm_period_us = period_us;
  pthread_create(&storm_thread, nullptr, storm, nullptr);
}

API void harness_storm_stop() {
  storm_on = false;
  pthread_join(storm_thread, nullptr);
}

API uint32_t harness_stored() {
  const uint32_t n = stored_count.load();
  return n < kMaxStored ? n : kMaxStored;
}

API int harness_stored_walk(uint32_t at, Row* rows) { return deliver(stored[at].walk, stored[at].frame, rows); }

// Walks from a garbage thread state, to show that nothing is believed blindly.
API int harness_walk_garbage(uint64_t address, Row* rows) {
  static thread_local PythonFrame frames[kMaxFrames];
  return deliver(python_walk(reinterpret_cast<void*>(address), frames, kMaxFrames), frames, rows);
}
