#include "steps/unprofiled.h"

#include <atomic>
#include <cstring>
#include <optional>

#include "common/system.h"
#include "pools/resolve.h"
#include "signals/real.h"
#include "steps/interpose.h"

namespace {

std::atomic<int> g_window_of{0};  // the process that has a window open; a forked child has none

thread_local const void* t_constructing __attribute__((tls_model("initial-exec"))) = nullptr;

// at::enableRecordFunction and its question: of the calling thread alone.
bool records(void* caller) {
  using IsEnabled = bool (*)();
  static constinit sonde::RealFunction is_enabled{"_ZN2at23isRecordFunctionEnabledEv"};
  const auto ask = reinterpret_cast<IsEnabled>(is_enabled.for_caller(caller));
  return ask && ask();
}

void set_records(void* caller, bool on) {
  using Enable = void (*)(bool);
  static constinit sonde::RealFunction enable{"_ZN2at20enableRecordFunctionEb"};
  const auto set = reinterpret_cast<Enable>(enable.for_caller(caller));
  if (set) set(on);
}

bool window_is_open() { return g_window_of.load(std::memory_order_relaxed) == sonde::process_id(); }

}  // namespace

namespace sonde {

Unprofiled::Unprofiled(void* caller) : caller_(caller), was_enabled_(window_is_open() && records(caller)) {
  if (was_enabled_) set_records(caller_, false);
}

Unprofiled::~Unprofiled() {
  if (was_enabled_) set_records(caller_, true);
}

// Sends and receives have no function of their own where they are made; other backends end their records at once.
class WorkMade {
 public:
  WorkMade(const char* title, void* caller) {
    if (title && !std::strncmp(title, "gloo:", 5)) unprofiled_.emplace(caller);
  }
  ~WorkMade() {}

 private:
  std::optional<Unprofiled> unprofiled_;
};

}  // namespace sonde

// c10d::Work::Work(int, OpType, const char*, const std::optional<std::vector<at::Tensor>>&)
#define SONDE_WORK(name, constructor)                                                                         \
  SONDE_IN_FRONT_OF(sonde_work_##name,                                                                        \
                    "_ZN4c10d4Work" constructor "EiNS_6OpTypeEPKcRKSt8optionalISt6vectorIN2at6TensorESaIS7_EEE", \
                    void, (void* self, int rank, unsigned char operation, const char* title, const void* inputs), \
                    (self, rank, operation, title, inputs), t_constructing,                        \
                    sonde::WorkMade made(title, __builtin_return_address(0)))
SONDE_WORK(whole, "C1")
SONDE_WORK(base, "C2")

// 1: a window begins; 0: it has ended.
SONDE_EXPORT void sonde_window_is_open(int on) {
  g_window_of.store(on ? sonde::process_id() : 0, std::memory_order_relaxed);
}
