#include "steps/phases.h"

#include <dlfcn.h>

#include <atomic>

#include "common/clock.h"
#include "core/agent.h"
#include "steps/settings.h"

namespace sonde {
namespace {

// The forward pass under way on this thread; its record grows in place.
struct ForwardPass {
  EventRecord* record = nullptr;
  const void* first = nullptr;
  int pid = 0;  // in a forked child the record is the parent's
};
thread_local ForwardPass t_forward __attribute__((tls_model("initial-exec")));

bool with_gradients() {
  using IsEnabled = bool (*)();
  static std::atomic<IsEnabled> known{nullptr};
  IsEnabled ask = known.load(std::memory_order_relaxed);
  if (!ask) {
    ask = reinterpret_cast<IsEnabled>(dlsym(RTLD_DEFAULT, "_ZN3c108GradMode10is_enabledEv"));
    known.store(ask, std::memory_order_relaxed);
  }
  return ask && ask();
}

}  // namespace

bool phases_wanted() {
  if (!agent_sampling()) return false;
  using IsInitialized = int (*)();
  static std::atomic<IsInitialized> known{nullptr};
  static std::atomic<bool> asked{false};
  if (!asked.load(std::memory_order_acquire)) {
    known.store(reinterpret_cast<IsInitialized>(dlsym(RTLD_DEFAULT, "Py_IsInitialized")), std::memory_order_relaxed);
    asked.store(true, std::memory_order_release);
  }
  const IsInitialized ask = known.load(std::memory_order_relaxed);
  return !ask || !ask();
}

TrainingPhase::TrainingPhase(Event code, bool outermost, const void* subject)
    : code_(code), start_ns_(outermost && phases_wanted() ? mono_ns() : 0), subject_(subject) {
  if (start_ns_) t_forward.record = nullptr;  // the forward pass before it is over
}

TrainingPhase::~TrainingPhase() {
  if (!start_ns_) return;
  write_event(code_, start_ns_, mono_ns(), reinterpret_cast<int64_t>(subject_));
  if (code_ == Event::Optimizer) tell_settings();
}

ModuleCall::ModuleCall(bool outermost, const void* module) : counts_(outermost && phases_wanted()) {
  if (!counts_) return;
  ForwardPass& pass = t_forward;
  if (pass.record && pass.first != module && pass.pid == agent_pid()) return;
  const uint64_t now = mono_ns();
  const Event code = with_gradients() ? Event::Forward : Event::ForwardWithoutGrad;
  pass = {write_event(code, now, now, reinterpret_cast<int64_t>(module)), module, agent_pid()};
}

ModuleCall::~ModuleCall() {
  if (!counts_) return;
  if (t_forward.record && t_forward.pid == agent_pid()) t_forward.record->end_ns = static_cast<int64_t>(mono_ns());
  tell_settings();
}

}  // namespace sonde
