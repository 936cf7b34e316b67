// unshare and setns as the program calls them. The kernel lets only a process of one thread change its user namespace (by
// setns also those of mounts and of time), and Sonde's thread is one too many: where that alone is in the way it ends, with its
// log, and begins again afterwards. A call that succeeds at once costs nothing.
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "background/background.h"
#include "common/clock.h"
#include "common/system.h"
#include "core/agent.h"
#include "process/confined.h"
#include "signals/real.h"
#include "threads/registry.h"

namespace sonde {
namespace {

using Unshare = int (*)(int);
using Setns = int (*)(int, int);
Unshare unshare_cached;
Setns setns_cached;

// The kernel takes a thread out of its process a little after whoever joined it goes on.
constexpr uint64_t kGoneWithinNs = 100'000'000;
constexpr timespec kMoment = {0, 100'000};

// Is this thread the only one that is not Sonde's? Not sure: a thread that is not followed. Then the call fails again.
bool is_alone() {
  uint32_t live = 0;
  for (uint32_t i = 0; i < thread_slots(); i++) live += thread_at(i)->phase.load(std::memory_order_acquire) == Phase::Live;
  return live <= 1;
}

template <typename Call>
int without_our_thread(Call call) {
  const int result = call();
  if (result == 0 || errno != EINVAL || !agent_present() || process_id() != agent_pid() || is_filtered()) return result;
  if (!background_started() || !is_alone()) {
    errno = EINVAL;
    return result;
  }
  agent_stop(log::EndReason::Exec);
  see_background_off();
  int again = -1, error = EINVAL;
  const uint64_t give_up_ns = mono_ns() + kGoneWithinNs;
  for (;;) {
    again = call();
    error = errno;
    if (again == 0 || error != EINVAL || mono_ns() > give_up_ns) break;
    nanosleep(&kMoment, nullptr);
  }
  agent_resume();
  errno = error;
  return again;
}

}  // namespace
}  // namespace sonde

using namespace sonde;

SONDE_EXPORT int unshare(int flags) noexcept {
  const auto call = real(&unshare_cached, "unshare");
  return without_our_thread([&] { return call(flags); });
}

SONDE_EXPORT int setns(int fd, int type) noexcept {
  const auto call = real(&setns_cached, "setns");
  return without_our_thread([&] { return call(fd, type); });
}
