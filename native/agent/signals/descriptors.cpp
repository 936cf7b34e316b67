#include "signals/descriptors.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "core/agent.h"
#include "signals/mask.h"
#include "signals/policy.h"
#include "signals/real.h"
#include "signals/shared.h"

namespace sonde {
namespace {

constexpr int kMost = 64;  // with SIGPROF in their set; of more the latest count

struct Descriptor {
  std::atomic<int> fd{-1};
  std::atomic<uint64_t> mask{0};
};
constinit Descriptor descriptors[kMost];
constinit std::atomic<unsigned> next_slot{0};

int kernel_signalfd(int fd, uint64_t mask, int flags) {
  return static_cast<int>(syscall(SYS_signalfd4, fd, &mask, sizeof mask, flags));
}

void forget(int fd) {
  for (Descriptor& descriptor : descriptors) {
    int expected = fd;
    descriptor.fd.compare_exchange_strong(expected, -1, std::memory_order_acq_rel);
  }
}

void remember(int fd, uint64_t mask) {
  Descriptor& descriptor = descriptors[next_slot.fetch_add(1, std::memory_order_relaxed) % kMost];
  descriptor.fd.store(-1, std::memory_order_relaxed);
  descriptor.mask.store(mask, std::memory_order_release);
  descriptor.fd.store(fd, std::memory_order_release);
}

}  // namespace

int program_signalfd(int fd, const sigset_t* set, int flags) {
  const uint64_t mask = mask_of(*set), tick = mask_bit(kSampleSignal);
  if (!agent_present()) return kernel_signalfd(fd, mask, flags);
  const bool open = sample_signal_taken() || !(mask & tick);
  const int result = kernel_signalfd(fd, open ? mask : mask & ~tick, flags);
  if (result < 0) return result;
  forget(result);
  if (open) return result;
  remember(result, mask);
  if (sample_signal_taken()) open_descriptors();  // meanwhile
  return result;
}

// A number that the program has closed meanwhile, and opened as something else, is refused by the kernel.
void open_descriptors() {
  const int saved = errno;
  for (Descriptor& descriptor : descriptors) {
    const int fd = descriptor.fd.exchange(-1, std::memory_order_acq_rel);
    if (fd >= 0) kernel_signalfd(fd, descriptor.mask.load(std::memory_order_acquire), 0);
  }
  errno = saved;
}

}  // namespace sonde

SONDE_EXPORT int signalfd(int fd, const sigset_t* set, int flags) noexcept {
  return sonde::program_signalfd(fd, set, flags);
}
