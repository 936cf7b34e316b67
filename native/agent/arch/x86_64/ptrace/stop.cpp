#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include <vector>

#include "stop.h"

namespace sonde::dump {
namespace {

constexpr long kLookEveryNs = 100'000;
constexpr unsigned kMostLooks = 2000;  // 200 ms: on a crowded machine a thread may have to wait for a CPU to stop

std::vector<int> late;

// The signal that a stop reports and that must be handed on; 0: it is the stop that was asked for.
long signal_of(int status) { return status >> 16 ? 0 : WSTOPSIG(status); }

}  // namespace

void let_go_of_late_ones() {
  std::erase_if(late, [](int tid) {
    int status = 0;
    const pid_t who = waitpid(tid, &status, __WALL | WNOHANG);
    if (who == tid && WIFSTOPPED(status)) ptrace(PTRACE_DETACH, tid, nullptr, signal_of(status));
    return who != 0;
  });
}

Stop::Stop(int tid) : tid_(tid) {
  if (ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) {
    error_ = errno;
    return;
  }
  if (ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) == 0) {
    for (unsigned look = 0; look < kMostLooks; look++) {
      int status = 0;
      const pid_t who = waitpid(tid, &status, __WALL | WNOHANG);
      if (who == tid && WIFSTOPPED(status)) {
        signal_ = signal_of(status);
        return;
      }
      if (who < 0 || (who == tid && !WIFSTOPPED(status))) {
        error_ = ESRCH;  // it ended
        return;
      }
      const timespec pause = {0, kLookEveryNs};
      nanosleep(&pause, nullptr);
    }
    error_ = ETIMEDOUT;
  } else {
    error_ = errno;
  }
  late.push_back(tid);  // a thread must be stopped to be let go
}

Stop::~Stop() {
  if (error_) return;
  ptrace(PTRACE_DETACH, tid_, nullptr, signal_);
}

bool Stop::registers(Registers* out) const {
  user_regs_struct r{};
  iovec where = {&r, sizeof r};
  if (error_ || ptrace(PTRACE_GETREGSET, tid_, NT_PRSTATUS, &where) != 0) return false;
  const unsigned long long value[Registers::kCount] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
                                                       r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
  for (unsigned i = 0; i < Registers::kCount; i++) out->set(i, value[i]);
  return true;
}

}  // namespace sonde::dump
