// The operator calls of a native torch program: name, start, end, thread, shapes, types, sequence number.
//
// Built by `sonde run --shapes` for the program's own torch and opened inside the program by
// native/observer. A global RecordFunction callback sees every call on every thread; nothing of torch.profiler
// runs. Times are CLOCK_MONOTONIC, as those of samples are.
//
// FOLDER/raw/PID.calls.bin is a row of blocks of 16 KiB, mapped and shared, so what was written survives
// `kill -9`. A block belongs to one thread: its first record holds the thread's id, then come calls of 40 bytes.
// FOLDER/raw/PID.calls.jsonl names each signature (name, shapes, types, whole-number inputs) once.
// Calls are observed while their cost stays within a share of the process's CPU time
// (SONDE_AGENT_SHAPES); then the callback is switched off, which makes it free, until the share has grown.
// A record of kind kOpened or kClosed says so.
//
// Nothing here throws into the program; objects that callbacks use are never destroyed, since
// threads may still run when the program exits.
#include <ATen/EmptyTensor.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <vector>

#include "log.h"
#include "signatures.h"

namespace sonde {
namespace {

constexpr int64_t kUnseenNs = 370;  // boxing of inputs and clean-up of a call, which no clock here sees
constexpr int64_t kWindowNs = 4'000'000;  // a window opens when at least so much may be spent
constexpr uint32_t kCallsPerCheck = 64;

// Trivial, so that no destructor runs when a thread ends: callbacks may still come after.
struct Local {
  static constexpr size_t kRemembered = 256;
  uint64_t first[kRemembered], second[kRemembered];
  uint32_t number[kRemembered];
  Record* next;
  Record* end;
  uint32_t life;  // differs from the observer's after a fork
  uint32_t unchecked;
  int64_t cost_ns;
};
thread_local Local local;

struct Call : at::ObserverContext {
  uint32_t signature = 0;
  uint32_t flags = 0;
  uint32_t life = 0;
  int64_t start_ns = 0;
  int64_t cost_ns = 0;
};

struct Observer {
  Blocks blocks;
  Signatures signatures;
  std::string folder;
  double share = 0.02;
  at::CallbackHandle handle = 0;
  std::atomic<uint32_t> life{1};
  std::atomic<bool> is_open{true};
  std::atomic<int64_t> cost_ns{0};
  std::atomic<int64_t> lost{0};
  std::atomic<bool> has_helper{false};
};
Observer* observer = nullptr;

bool open_files() {
  std::string base = observer->folder + "/raw/" + std::to_string(getpid()) + ".calls";
  return observer->blocks.open(base + ".bin") && observer->signatures.open(base + ".jsonl");
}

Record* next_record() {
  uint32_t life = observer->life.load(std::memory_order_relaxed);
  if (local.life != life) {
    std::memset(local.number, 0, sizeof local.number);
    local.next = local.end = nullptr;
    local.unchecked = 0;
    local.cost_ns = 0;
    local.life = life;
  }
  if (local.next == local.end) {
    char* block = observer->blocks.take();
    if (!block) {
      observer->lost.fetch_add(1, std::memory_order_relaxed);
      return nullptr;
    }
    local.next = reinterpret_cast<Record*>(block);
    local.end = local.next + kBlockBytes / sizeof(Record);
    *local.next++ = {kThread, 0, syscall(SYS_gettid), 0, 0, 0};
  }
  return local.next++;
}

void write_mark(uint32_t kind, int64_t value) {
  if (Record* record = next_record()) *record = {kind, 0, now_ns(), value, 0, 0};
}

void* helper(void*);

void start_helper() {
  if (observer->has_helper.exchange(true)) return;
  // Our thread takes none of the program's signals.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, helper, nullptr) == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void close_window() {
  if (!observer->is_open.exchange(false)) return;
  at::disableCallback(observer->handle);
  write_mark(kClosed, observer->cost_ns.load());
  start_helper();
}

// How much may be spent now; negative when too much was.
int64_t allowance_ns() {
  double earned = observer->share * static_cast<double>(read_clock(CLOCK_PROCESS_CPUTIME_ID));
  return static_cast<int64_t>(earned) - observer->cost_ns.load();
}

// Sleeps while calls are not observed until the next window is paid for, and ends when one opens.
void* helper(void*) {
  pthread_setname_np(pthread_self(), "sonde-observer");
  const long cpus = std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L);
  for (;;) {
    int64_t missing = kWindowNs - allowance_ns();
    if (missing <= 0) break;
    double sleep_ns = static_cast<double>(missing) / observer->share / static_cast<double>(cpus);
    int64_t whole = std::max<int64_t>(static_cast<int64_t>(sleep_ns), 20'000'000);
    timespec time = {whole / 1'000'000'000, whole % 1'000'000'000};
    nanosleep(&time, nullptr);
  }
  write_mark(kOpened, observer->cost_ns.load());
  observer->has_helper = false;
  at::reenableCallback(observer->handle);  // before the flag: who closes must find it on
  observer->is_open = true;
  return nullptr;
}

uint32_t signature_of(const at::RecordFunction& call) {
  Key key;
  key.add(call.name());
  for (const c10::IValue& value : call.inputs()) add_value(key, value);
  size_t slot = key.first % Local::kRemembered;
  bool current = local.life == observer->life.load(std::memory_order_relaxed);
  if (current && local.number[slot] && local.first[slot] == key.first && local.second[slot] == key.second) {
    return local.number[slot];
  }
  uint32_t number = observer->signatures.number(key, call);
  if (current) {
    local.first[slot] = key.first;
    local.second[slot] = key.second;
    local.number[slot] = number;
  }
  return number;
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& call) {
  int64_t entered_ns = now_ns();
  auto context = std::make_unique<Call>();
  context->life = observer->life.load(std::memory_order_relaxed);
  try {
    context->signature = signature_of(call);
  } catch (...) {  // an input of a kind that cannot be read: the call is counted as lost
    context->signature = 0;
  }
  if (call.isAsync()) context->flags |= kAsync;
  if (call.scope() == at::RecordScope::BACKWARD_FUNCTION) context->flags |= kBackward;
  if (call.scope() == at::RecordScope::USER_SCOPE) context->flags |= kUserScope;
  context->start_ns = now_ns();
  context->cost_ns = context->start_ns - entered_ns;
  return context;
}

void on_end(const at::RecordFunction& call, at::ObserverContext* context) {
  int64_t end_ns = now_ns();
  auto* begun = static_cast<Call*>(context);
  if (!begun || begun->life != observer->life.load(std::memory_order_relaxed)) return;
  if (!begun->signature) {
    observer->lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  Record* record = next_record();
  if (!record) return;
  int64_t forward = call.seqNr() >= 0 ? static_cast<int64_t>(call.forwardThreadId()) : -1;
  record->flags = begun->flags;
  record->start_ns = begun->start_ns;
  record->end_ns = end_ns;
  record->sequence = call.seqNr();
  record->forward_thread = forward;
  // Last, so that a reader of a torn log finds whole records only.
  __atomic_store_n(&record->signature, begun->signature, __ATOMIC_RELEASE);
  local.cost_ns += begun->cost_ns + kUnseenNs;
  if (++local.unchecked < kCallsPerCheck) return;
  observer->cost_ns.fetch_add(local.cost_ns, std::memory_order_relaxed);
  local.cost_ns = 0;
  local.unchecked = 0;
  if (observer->share < 1 && allowance_ns() < 0) close_window();
}

void in_child() {
  // The parent's files, locks and threads are not ours; its records under way are skipped by `life`.
  uint32_t life = observer->life.load() + 1;
  std::string folder = observer->folder;
  double share = observer->share;
  at::CallbackHandle handle = observer->handle;
  bool was_open = observer->is_open;
  observer = new Observer();  // the old one is left as it is: a lock in it may be held for ever
  observer->folder = folder;
  observer->share = share;
  observer->handle = handle;
  observer->life = life;
  if (!open_files()) observer->lost = 1;
  observer->is_open = was_open;
  if (was_open) {
    write_mark(kOpened, 0);
  } else {
    start_helper();  // torch's own lock may have been held at the fork, so it is not taken here
  }
}

void at_end() {
  if (observer->lost.load()) write_mark(kLost, observer->lost.load());
  if (observer->is_open.load()) write_mark(kClosed, observer->cost_ns.load());
}

void watch() {
  observer->handle = at::addGlobalCallback(
      at::RecordFunctionCallback(on_start, on_end)
          .needsInputs(true)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE}));
}

__attribute__((constructor)) void begin() {
  const char* folder = std::getenv("SONDE_AGENT_FOLDER");
  const char* share = std::getenv("SONDE_AGENT_SHAPES");
  if (!folder || !share) return;
  observer = new Observer();
  observer->folder = folder;
  observer->share = std::atof(share);
  if (!open_files()) return;
  write_mark(kOpened, 0);
  pthread_atfork(nullptr, nullptr, in_child);
  std::atexit(at_end);
  watch();
}

}  // namespace
}  // namespace sonde

// Whether headers and library agree: one call with known inputs must come out as it went in.
// For a process of its own, after the build: when they do not agree, anything may happen.
extern "C" __attribute__((visibility("default"))) int sonde_observer_check(const char* folder) {
  using namespace sonde;
  observer = new Observer();
  observer->folder = folder;
  observer->share = 1;
  if (!open_files()) return 1;
  watch();
  at::Tensor tensor(at::detail::empty_cpu({2, 3}, at::kFloat));
  {
    at::RecordFunction guard(at::RecordScope::FUNCTION);
    std::vector<c10::IValue> inputs = {tensor, int64_t{7}, std::vector<int64_t>{4, 5}};
    if (!guard.isActive()) return 2;
    guard.before("sonde::check", &inputs, 11);
  }
  return local.next ? 0 : 3;
}
