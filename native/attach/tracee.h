// One thread of the program, stopped for as long as the object lives, and made to do system calls. On every way out it
// has its registers and its signal mask back and goes on. Nothing of its stack is read or written.
//
// A wait that the stop ended with EINTR (epoll_wait and others are not restarted by the kernel) is made again.
#pragma once

#include <cstdint>

#include "patience.h"

namespace sonde::attach {

class Tracee {
 public:
  Tracee(int pid, int tid, Patience* patience, uint64_t limit_ns);
  ~Tracee();
  Tracee(const Tracee&) = delete;
  Tracee& operator=(const Tracee&) = delete;

  int error() const { return error_; }  // 0: it is stopped
  uint64_t thread_pointer() const;
  uint64_t stopped_since_ns() const { return since_ns_; }

  // One system call by way of the instruction at `at`. False: the thread did not come back from it.
  bool call(uint64_t at, long number, const uint64_t (&arguments)[6], int64_t* result);
  // A thread that begins at `start`, with `argument`; `block` is its thread pointer. `clone_at`: code as clone_code has it.
  bool clone(uint64_t clone_at, uint64_t stack, uint64_t block, uint64_t tid_at, uint64_t alive_at, uint64_t start,
             uint64_t argument, int64_t* result);

 private:
  bool step_to(uint64_t behind, bool single);
  void make_wait_again();

  const int pid_, tid_;
  Patience* const patience_;
  int error_ = 0;
  bool masked_ = false;
  long signal_ = 0;  // came first, and is handed on
  uint64_t mask_ = 0;
  uint64_t since_ns_ = 0;
  struct Saved;
  alignas(16) unsigned char saved_[256];  // user_regs_struct
};

// Seven bytes and more: makes the clone; the caller meets a trap, the new thread calls what it was told to.
constexpr uint64_t kCloneCodeBytes = 64;
const uint8_t* clone_code();

}  // namespace sonde::attach
