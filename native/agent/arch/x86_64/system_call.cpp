// The `syscall` instruction, before and behind which a thread may be interrupted.
#include <sys/syscall.h>

#include "arch/arch.h"
#include "common/guarded_memory.h"

namespace sonde {
namespace {

constexpr uint16_t kSyscall = 0x050f;  // the instruction's two bytes
constexpr uint64_t kSyscallBytes = 2;
constexpr uint8_t kMoveToEax = 0xb8;  // four bytes follow
constexpr uint16_t kClearEax = 0xc031;
constexpr uint64_t kChangedByTraps = 0x10100;  // flags TF and RF

uint64_t value(const ucontext_t* context, int index) {
  return static_cast<uint64_t>(context->uc_mcontext.gregs[index]);
}

uint64_t behind(const ucontext_t* context, CallPlace place) {
  return pc_of(context) + (place == CallPlace::Before ? kSyscallBytes : 0);
}

}  // namespace

bool behind_system_call(uint64_t pc) {
  uint32_t fault = 0;
  return guarded_load<uint16_t>(pc - kSyscallBytes, &fault) == kSyscall;
}

// `syscall` leaves its successor's address in rcx and the flags in r11.
bool registers_fit_call(const ucontext_t* context, CallPlace place) {
  const uint64_t differ = value(context, REG_R11) ^ value(context, REG_EFL);
  return value(context, REG_RCX) == behind(context, place) && !(differ & ~kChangedByTraps);
}

bool has_call_instruction(const ucontext_t* context, CallPlace place) {
  return behind_system_call(behind(context, place));
}

uint64_t number_or_result(const ucontext_t* context) { return value(context, REG_RAX); }

uint64_t call_argument(const ucontext_t* context, unsigned index) {
  static constexpr int kArgument[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
  return value(context, kArgument[index]);
}

bool number_from_code(const ucontext_t* context, uint32_t* number) {
  const uint64_t instruction = pc_of(context) - kSyscallBytes;
  uint32_t fault = 0;
  const auto opcode = guarded_load<uint8_t>(instruction - 5, &fault);
  *number = guarded_load<uint32_t>(instruction - 4, &fault);
  if (fault || opcode == kMoveToEax) return !fault;
  *number = SYS_read;
  return guarded_load<uint16_t>(instruction - 2, &fault) == kClearEax;
}

void make_call_again(ucontext_t* context, uint32_t number) {
  set_pc(context, pc_of(context) - kSyscallBytes);
  context->uc_mcontext.gregs[REG_RAX] = static_cast<greg_t>(number);
}

void skip_call(ucontext_t* context, uint64_t result) {
  set_pc(context, pc_of(context) + kSyscallBytes);
  context->uc_mcontext.gregs[REG_RAX] = static_cast<greg_t>(result);
}

int64_t modern_call(int64_t number) {
  switch (number) {
    case SYS_open: return SYS_openat;
    case SYS_stat: return SYS_newfstatat;
    case SYS_poll: return SYS_ppoll;
    case SYS_select: return SYS_pselect6;
    case SYS_epoll_wait: return SYS_epoll_pwait;
    case SYS_pause: return SYS_rt_sigsuspend;
    default: return number;
  }
}

}  // namespace sonde
