// glibc's description of a thread: the thread pointer (fs) points to it, and so do two of its words.
#include <asm/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "common/guarded_memory.h"

namespace sonde {
namespace {
constexpr uint64_t kThreadBlockBytes = 1024;  // all that is looked at lies within
}

bool thread_pointer(uint64_t* base) { return syscall(SYS_arch_prctl, ARCH_GET_FS, base) == 0; }

bool is_thread_block(uint64_t base) {
  uint32_t fault = 0;
  const auto self = guarded_load<uint64_t>(base, &fault);
  const auto libc_self = guarded_load<uint64_t>(base + 16, &fault);
  guarded_load<uint64_t>(base + kThreadBlockBytes, &fault);
  return !fault && self == base && libc_self == base;
}

}  // namespace sonde
