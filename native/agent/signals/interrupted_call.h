// A tick must not change what a system call returns. It would in two ways, because the kernel decides about a call that
// waits when it delivers the first signal, and a tick that falls due in the same moment may be the first:
//
//   - The call may be restarted (SA_RESTART, which the tick has): the kernel rewinds to the `syscall` instruction. A
//     signal of the program behind the tick, whose handler has no SA_RESTART, should have ended the call with EINTR.
//     Its handler would run, and the call would be made again: a timeout by alarm() or Ctrl-C would be lost.
//   - The call is never restarted after a handler (poll, nanosleep, pause; signal(7) lists them): it returns EINTR,
//     though nothing came but the tick.
//
// A blocked thread has no ticks, so both happen only on the way into the wait and out of it: 3 of 100 waits at 4000 Hz.
// At the end of a tick the interrupted registers are put right: the first becomes EINTR, the second is made again.
//
// What remains:
//   - A signal that comes between the last look and the end of sigreturn (below a microsecond) finds the call rewound.
//     For the program it came just before the call. That is possible without Sonde as well.
//   - A signal of the process that a tick turned over to another thread does not end the main thread's call when
//     Sonde does not forward to its handler (one without SA_ONSTACK; Python's have it).
//   - A call whose number is not a constant right before the instruction keeps its EINTR: the number is nowhere else.
// Everything here is async-signal-safe.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace sonde {

class InterruptedCall {
 public:
  // At the beginning of a tick.
  InterruptedCall(ucontext_t* context, bool own_variables);
  // At its end.
  void put_right() const;

 private:
  enum class State : uint8_t { None, Rewound, Ended };
  State state_ = State::None;
  bool own_variables_;
  uint32_t number_ = 0;
  uint64_t pending_ = 0;
  uint64_t began_ns_ = 0;
  ucontext_t* context_;

  bool signal_comes(uint64_t without) const;
};

// A handler of the program, to which Sonde forwards, begins in this thread. The kernel gives a signal of the process to
// the main thread first; but when a tick blocks it there, the kernel passes it on to another thread that takes it. The
// main thread's call should end all the same.
void note_program_handler(const siginfo_t* info, const struct sigaction& action);

// The program's handler of a signal that the kernel delivered with SA_RESTART has none: a rewound call is ended.
void end_rewound_call(ucontext_t* context);

}  // namespace sonde
