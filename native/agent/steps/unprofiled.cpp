#include "steps/unprofiled.h"

#include <atomic>

#include "common/system.h"
#include "pools/resolve.h"
#include "signals/real.h"

namespace {

std::atomic<int> g_window_of{0};  // the process that has a window open; a forked child has none

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

}  // namespace sonde

// 1: a window begins; 0: it has ended.
SONDE_EXPORT void sonde_window_is_open(int on) {
  g_window_of.store(on ? sonde::process_id() : 0, std::memory_order_relaxed);
}
