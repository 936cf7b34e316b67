#include "common/safe_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

#include "common/system.h"
#include "signals/fault.h"

// rdi to, rsi from, rdx size -> eax 1 copied, 0 faulted. The loads lie between
// sonde_safe_first and sonde_safe_last; a fault there continues at sonde_safe_failed.
// One word is the common case and needs no string instruction (their start-up costs ~20 ns).
asm(R"(
.text
.p2align 4
.globl sonde_safe_copy
.hidden sonde_safe_copy
.type sonde_safe_copy,@function
sonde_safe_copy:
  .cfi_startproc
  cmpq $8, %rdx
  jne 1f
.globl sonde_safe_first
.hidden sonde_safe_first
sonde_safe_first:
  movq (%rsi), %rax
  movq %rax, (%rdi)
  movl $1, %eax
  ret
1:
  movq %rdx, %rcx
  rep movsb
  movl $1, %eax
  ret
.globl sonde_safe_last
.hidden sonde_safe_last
sonde_safe_last:
.globl sonde_safe_failed
.hidden sonde_safe_failed
sonde_safe_failed:
  xorl %eax, %eax
  ret
  .cfi_endproc
.size sonde_safe_copy, .-sonde_safe_copy
)");

extern "C" {
int sonde_safe_copy(void* to, const void* from, size_t size);
extern const char sonde_safe_first[], sonde_safe_last[], sonde_safe_failed[];
}

namespace sonde {
namespace {
std::atomic<bool> guard_installed{false};
std::atomic<uint64_t> faults{0};
constexpr uint64_t kLowest = 4096, kHighest = 0x7ffffffff000;
}  // namespace

bool safe_copy(void* to, uint64_t from, size_t size) {
  if (from < kLowest || from >= kHighest || size > kHighest - from) return false;
  if (__builtin_expect(guard_installed.load(std::memory_order_relaxed), true)) {
    return sonde_safe_copy(to, reinterpret_cast<const void*>(from), size) != 0;
  }
  iovec local = {to, size}, remote = {reinterpret_cast<void*>(from), size};
  return syscall(SYS_process_vm_readv, process_id(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

void set_fault_guard(bool installed) { guard_installed.store(installed, std::memory_order_relaxed); }
bool fault_guard_installed() { return guard_installed.load(std::memory_order_relaxed); }
uint64_t faults_guarded() { return faults.load(std::memory_order_relaxed); }

bool fault_is_ours(uint64_t pc, uint64_t* continue_at) {
  if (pc < reinterpret_cast<uint64_t>(sonde_safe_first) || pc >= reinterpret_cast<uint64_t>(sonde_safe_last)) {
    return false;
  }
  faults.fetch_add(1, std::memory_order_relaxed);
  *continue_at = reinterpret_cast<uint64_t>(sonde_safe_failed);
  return true;
}

}  // namespace sonde
