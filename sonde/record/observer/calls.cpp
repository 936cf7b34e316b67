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
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace sonde {
namespace {

constexpr size_t kBlockBytes = 16 * 1024;
constexpr size_t kChunkBytes = 1024 * 1024;
constexpr int64_t kMostFileBytes = int64_t{4} << 30;
constexpr uint32_t kMostSignatures = 1 << 16;  // beyond, calls keep their name only
constexpr uint32_t kThread = 0xfffffff0, kOpened = 0xfffffff1, kClosed = 0xfffffff2, kLost = 0xfffffff3;
constexpr uint32_t kAsync = 1, kBackward = 2, kUserScope = 4;
constexpr int64_t kUnseenNs = 370;  // boxing of inputs and clean-up of a call, which no clock here sees
constexpr int64_t kWindowNs = 4'000'000;  // a window opens when at least so much may be spent
constexpr uint32_t kCallsPerCheck = 64;

struct Record {
  uint32_t signature;  // number, or one of the kinds above; 0 ends a block
  uint32_t flags;
  int64_t start_ns, end_ns;
  int64_t sequence, forward_thread;
};
static_assert(sizeof(Record) == 40);

int64_t read_clock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

int64_t now_ns() { return read_clock(CLOCK_MONOTONIC); }

// Mapped blocks of one file. Not for the callback's fast path: a thread comes here once per 400 calls.
class Blocks {
 public:
  bool open(const std::string& path) {
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    size_ = 0;
    chunk_ = nullptr;
    used_ = kChunkBytes;
    return fd_ >= 0;
  }

  char* take() {
    std::lock_guard<std::mutex> guard(mutex_);
    if (used_ + kBlockBytes > kChunkBytes && !grow()) return nullptr;
    char* block = chunk_ + used_;
    used_ += kBlockBytes;
    return block;
  }

 private:
  bool grow() {
    // Allocated before it is mapped: a full disk ends the log, never the program with SIGBUS.
    if (fd_ < 0 || size_ + int64_t{kChunkBytes} > kMostFileBytes) return false;
    if (posix_fallocate(fd_, size_, kChunkBytes) != 0) return false;
    void* map = mmap(nullptr, kChunkBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, size_);
    if (map == MAP_FAILED) return false;
    size_ += kChunkBytes;
    chunk_ = static_cast<char*>(map);
    used_ = 0;
    return true;
  }

  std::mutex mutex_;
  int fd_ = -1;
  int64_t size_ = 0;
  char* chunk_ = nullptr;
  size_t used_ = kChunkBytes;
};

// What a call is told apart by: two hashes of name and inputs, 128 bits in all, so that two signatures do not meet.
struct Key {
  uint64_t first = 0x9e3779b97f4a7c15u, second = 0xc2b2ae3d27d4eb4fu;

  void add(int64_t value) {
    uint64_t word = static_cast<uint64_t>(value);
    first = (first ^ word) * 0xff51afd7ed558ccdu;
    first ^= first >> 32;
    second = (second + word) * 0xc4ceb9fe1a85ec53u;
    second ^= second >> 29;
  }
  void add(const char* text) {
    size_t size = std::strlen(text);
    for (size_t i = 0; i < size; i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, text + i, std::min<size_t>(8, size - i));
      add(static_cast<int64_t>(word));
    }
    add(static_cast<int64_t>(size));
  }
  bool operator==(const Key& other) const { return first == other.first && second == other.second; }
};

struct HashOfKey {
  size_t operator()(const Key& key) const { return key.first; }
};

bool has_plain_sizes(const at::Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  return tensor.defined() && !tensor.is_nested() && !impl->has_symbolic_sizes_strides();
}

void add_tensor(Key& key, const at::Tensor& tensor) {
  if (!tensor.defined()) return key.add(-2);
  key.add(static_cast<int64_t>(tensor.scalar_type()) << 32 | 1);
  if (!has_plain_sizes(tensor)) return key.add(-3);
  at::IntArrayRef sizes = tensor.sizes();
  key.add(static_cast<int64_t>(sizes.size()));
  for (int64_t size : sizes) key.add(size);
}

bool is_whole_list(const c10::IValue& value) { return value.isIntList() || value.isBoolList(); }

// Fractions are left out: they change from step to step and tell nothing of the work.
void add_value(Key& key, const c10::IValue& value) {
  if (value.isTensor()) return add_tensor(key, value.toTensor());
  if (value.isInt()) {
    key.add(2);
    return key.add(value.toInt());
  }
  if (value.isBool()) return key.add(value.toBool() ? 4 : 3);
  if (value.isTensorList() || is_whole_list(value)) {
    c10::ArrayRef<c10::IValue> items = value.toListRef();
    key.add(value.isIntList() ? 6 : value.isBoolList() ? 10 : 5);
    key.add(static_cast<int64_t>(items.size()));
    for (const c10::IValue& item : items) {
      if (item.isTensor()) {
        add_tensor(key, item.toTensor());
      } else {
        key.add(item.isInt() ? item.toInt() : item.isBool() ? item.toBool() : -1);
      }
    }
    return;
  }
  if (value.isScalar()) return key.add(7);
  key.add(value.isDoubleList() ? 8 : 9);
}

void quote(std::string& out, const char* text) {
  out += '"';
  for (; *text; text++) {
    unsigned char c = static_cast<unsigned char>(*text);
    if (c == '"' || c == '\\') out += '\\';
    if (c >= 0x20) out += *text;
  }
  out += '"';
}

void add_sizes(std::string& out, const at::Tensor& tensor) {
  out += '[';
  if (has_plain_sizes(tensor)) {
    const char* between = "";
    for (int64_t size : tensor.sizes()) {
      out += between + std::to_string(size);
      between = ", ";
    }
  }
  out += ']';
}

std::string whole(const c10::IValue& value) {
  if (value.isInt()) return std::to_string(value.toInt());
  return value.isBool() ? value.toBool() ? "True" : "False" : "";
}

std::string whole_list(const c10::IValue& list) {
  std::string text = "[";
  for (const c10::IValue& item : list.toListRef()) text += (text.size() > 1 ? ", " : "") + whole(item);
  return text + "]";
}

// The texts are those that Kineto's trace has, so that everything after reads both alike.
struct Texts {
  std::string shapes = "[", dtypes = "[", inputs = "[";

  void add(const c10::IValue& value) {
    if (shapes.size() > 1) {
      shapes += ", ";
      dtypes += ", ";
      inputs += ", ";
    }
    std::string type, shape = "[]", input;
    if (value.isTensor()) {
      const at::Tensor& tensor = value.toTensor();
      shape.clear();
      add_sizes(shape, tensor);
      if (tensor.defined()) type = std::string(tensor.dtype().name());
    } else if (value.isTensorList()) {
      type = "TensorList";
      shape = "[";
      for (const c10::IValue& item : value.toListRef()) {
        if (shape.size() > 1) shape += ", ";
        add_sizes(shape, item.toTensor());
      }
      shape += ']';
    } else if (value.isScalar()) {
      type = "Scalar";
      input = whole(value);
    } else if (is_whole_list(value) || value.isDoubleList()) {
      type = "ScalarList";
      if (is_whole_list(value)) input = whole_list(value);
    }
    shapes += shape;
    quote(dtypes, type.c_str());
    quote(inputs, input.c_str());
  }
};

// Numbers of signatures, for all threads. Writes the line of a new one before anyone can use its number.
class Signatures {
 public:
  bool open(const std::string& path) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    return fd_ >= 0;
  }

  uint32_t number(const Key& key, const at::RecordFunction& call) {
    std::lock_guard<std::mutex> guard(mutex_);
    auto [at, is_new] = known_.try_emplace(key, 0);
    if (!is_new) return at->second;
    if (known_.size() > kMostSignatures) {
      known_.erase(at);
      Key name;
      name.add(call.name());
      auto [named, is_first] = known_.try_emplace(name, 0);
      if (is_first) named->second = write(call, false);
      return named->second;
    }
    at->second = write(call, true);
    return at->second;
  }

 private:
  uint32_t write(const at::RecordFunction& call, bool with_inputs) {
    uint32_t number = ++last_;
    std::string line = "{\"signature\": " + std::to_string(number) + ", \"name\": ";
    quote(line, call.name());
    if (with_inputs) {
      Texts texts;
      for (const c10::IValue& value : call.inputs()) texts.add(value);
      // Each text is kept as the table has it: a string that holds JSON.
      line += ", \"shapes\": ";
      quote(line, (texts.shapes + "]").c_str());
      line += ", \"dtypes\": ";
      quote(line, (texts.dtypes + "]").c_str());
      line += ", \"inputs\": ";
      quote(line, (texts.inputs + "]").c_str());
    }
    line += "}\n";
    ssize_t written = ::write(fd_, line.data(), line.size());
    (void)written;  // a full disk: the reader counts calls whose signature has no line
    return number;
  }

  std::mutex mutex_;
  int fd_ = -1;
  uint32_t last_ = 0;
  std::unordered_map<Key, uint32_t, HashOfKey> known_;
};

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
