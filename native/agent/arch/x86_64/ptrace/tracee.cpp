#include <elf.h>
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cstring>

#include "tracee.h"

#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK static_cast<__ptrace_request>(0x420a)
#define PTRACE_SETSIGMASK static_cast<__ptrace_request>(0x420b)
#endif

namespace sonde::attach {
namespace {

constexpr uint64_t kStepWithinNs = 60'000'000'000;
constexpr unsigned kMostSteps = 8;  // stops that are not the one that is waited for
constexpr uint64_t kNone = ~uint64_t{0};

user_regs_struct& registers(unsigned char* bytes) { return *reinterpret_cast<user_regs_struct*>(bytes); }
static_assert(sizeof(user_regs_struct) <= 256);

// syscall ; test eax, eax ; je child ; int3 ; child: mov rdi, r12 ; call r13 ; int3
constexpr uint8_t kCloneCode[kCloneCodeBytes] = {0x0f, 0x05, 0x85, 0xc0, 0x74, 0x01, 0xcc, 0x4c, 0x89, 0xe7, 0x41, 0xff, 0xd5, 0xcc};
constexpr uint64_t kBehindTrap = 7;

// Waits that end with EINTR after any stop, and may be made again as they are: the time that they were given counts anew.
bool is_never_restarted(uint64_t number) {
  switch (number) {
    case SYS_epoll_wait: case SYS_epoll_pwait: case 441 /* epoll_pwait2 */:
    case SYS_semop: case SYS_semtimedop: case SYS_msgsnd: case SYS_msgrcv: case SYS_io_getevents:
    case SYS_rt_sigtimedwait: case SYS_rt_sigsuspend: case SYS_pause:
    case SYS_read: case SYS_recvfrom: case SYS_recvmsg: case SYS_accept: case SYS_accept4:  // with a timeout, inotify
    case SYS_write: case SYS_sendto: case SYS_sendmsg:
      return true;
    default: return false;
  }
}

// Is a signal on its way to it? Then the EINTR is the program's.
bool signal_comes(int pid, int tid, uint64_t blocked) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, tid);
  FILE* file = fopen(path, "re");
  if (!file) return true;
  uint64_t pending = 0;
  while (fgets(line, sizeof line, file)) {
    unsigned long long mask = 0;
    if (sscanf(line, "SigPnd: %llx", &mask) == 1 || sscanf(line, "ShdPnd: %llx", &mask) == 1) pending |= mask;
  }
  fclose(file);
  return (pending & ~blocked) != 0;
}

}  // namespace

const uint8_t* clone_code() { return kCloneCode; }

Tracee::Tracee(int pid, int tid, Patience* patience, uint64_t limit_ns) : pid_(pid), tid_(tid), patience_(patience) {
  if (ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) {
    error_ = errno;
    return;
  }
  since_ns_ = now_ns();
  int status = 0;
  if (ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) != 0) {
    error_ = errno;
  } else if (!patience->wait_for(tid, &status, limit_ns)) {
    error_ = ETIMEDOUT;  // it is let go when this process ends
  } else if (!WIFSTOPPED(status)) {
    error_ = ESRCH;
  }
  if (error_) return;
  if (status >> 16 == 0) signal_ = WSTOPSIG(status);
  if (ptrace(PTRACE_GETREGS, tid, nullptr, saved_) != 0) {
    error_ = errno;
    ptrace(PTRACE_DETACH, tid, nullptr, signal_);
    return;
  }
  // Nothing may be delivered meanwhile, and a thread that is made here begins with this mask.
  const uint64_t all = ~uint64_t{0};
  masked_ = ptrace(PTRACE_GETSIGMASK, tid, sizeof mask_, &mask_) == 0 &&
            ptrace(PTRACE_SETSIGMASK, tid, sizeof all, &all) == 0;
  if (masked_) return;
  error_ = errno;
  ptrace(PTRACE_DETACH, tid, nullptr, signal_);
}

Tracee::~Tracee() {
  if (error_) return;
  make_wait_again();
  ptrace(PTRACE_SETREGS, tid_, nullptr, saved_);
  ptrace(PTRACE_SETSIGMASK, tid_, sizeof mask_, &mask_);
  ptrace(PTRACE_DETACH, tid_, nullptr, signal_);
}

void Tracee::make_wait_again() {
  user_regs_struct& saved = registers(saved_);
  if (static_cast<int64_t>(saved.rax) != -EINTR || !is_never_restarted(saved.orig_rax) || signal_) return;
  if (signal_comes(pid_, tid_, mask_)) return;
  errno = 0;
  const long code = ptrace(PTRACE_PEEKTEXT, tid_, saved.rip - 2, nullptr);
  if (errno || (code & 0xffff) != 0x050f) return;
  saved.rax = saved.orig_rax;
  saved.orig_rax = kNone;
  saved.rip -= 2;
}

uint64_t Tracee::thread_pointer() const {
  return reinterpret_cast<const user_regs_struct*>(saved_)->fs_base;
}

// Until the thread stands at `behind`. A stopped group reports a stop of its own first.
bool Tracee::step_to(uint64_t behind, bool single) {
  for (unsigned i = 0; i < kMostSteps; i++) {
    if (ptrace(single ? PTRACE_SINGLESTEP : PTRACE_CONT, tid_, nullptr, nullptr) != 0) return false;
    int status = 0;
    if (!patience_->wait_for(tid_, &status, kStepWithinNs) || !WIFSTOPPED(status)) {
      error_ = ESRCH;  // it was killed: nobody is left to restore
      return false;
    }
    user_regs_struct now = {};
    if (ptrace(PTRACE_GETREGS, tid_, nullptr, &now) != 0) return false;
    if (now.rip == behind) return true;
  }
  return false;
}

bool Tracee::call(uint64_t at, long number, const uint64_t (&arguments)[6], int64_t* result) {
  user_regs_struct r = registers(saved_);
  r.rip = at;
  r.rax = static_cast<uint64_t>(number);
  r.orig_rax = kNone;  // the kernel must not take it for the call that was interrupted
  r.rdi = arguments[0], r.rsi = arguments[1], r.rdx = arguments[2];
  r.r10 = arguments[3], r.r8 = arguments[4], r.r9 = arguments[5];
  if (ptrace(PTRACE_SETREGS, tid_, nullptr, &r) != 0) return false;
  if (!step_to(at + 2, true) || ptrace(PTRACE_GETREGS, tid_, nullptr, &r) != 0) return false;
  *result = static_cast<int64_t>(r.rax);
  return true;
}

bool Tracee::clone(uint64_t clone_at, uint64_t stack, uint64_t block, uint64_t tid_at, uint64_t alive_at, uint64_t start,
                   uint64_t argument, int64_t* result) {
  user_regs_struct r = registers(saved_);
  r.rip = clone_at;
  r.rax = SYS_clone;
  r.orig_rax = kNone;
  r.rdi = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
          CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  r.rsi = stack, r.rdx = tid_at, r.r10 = alive_at, r.r8 = block;
  r.r12 = argument, r.r13 = start;
  if (ptrace(PTRACE_SETREGS, tid_, nullptr, &r) != 0) return false;
  if (!step_to(clone_at + kBehindTrap, false) || ptrace(PTRACE_GETREGS, tid_, nullptr, &r) != 0) return false;
  *result = static_cast<int64_t>(r.rax);
  return true;
}

}  // namespace sonde::attach
