// Threads that nobody told the agent of: older than the agent, started by a bare clone, by a libc inside another
// library. They are found in /proc/self/task, get a timer from outside, and are entered by their first tick.
//
// A handler may use thread-local variables only where the thread has its own. A bare clone may go on with its creator's
// (then it is sampled without what lies there: pools and Python) or bring memory of its own making, where libc's do not
// exist (then nothing of ours runs on it; its CPU time is known and counted as not followed).
// A thread's signals are delivered on the stack that it has: one of its own making must have room for a signal.
#pragma once

#include <signal.h>

#include <cstdint>

#include "threads/thread.h"

namespace sonde {

// CPU time that a thread used before it was found: whose is it?
enum class EarlierTime : uint8_t {
  Counts,  // the agent was there all the time: it becomes a sample without a stack
  NotOurs,  // the agent came later than the thread
};

enum class Certainty : uint8_t {
  SecondLook,  // a thread that is just starting or ending looks unknown for a moment: it must be there twice
  Now,         // no thread is being started through pthread_create while this is called
};

// Not async-signal-safe; from any thread, one at a time. Adopts every thread of this process that is not known.
// Returns how many. Costs one stat() when there is none.
uint32_t adopt_unknown_threads(EarlierTime earlier, Certainty certainty);

// From now on adopted threads get their clock only when they have an alternate stack: their first tick may find the stack
// pointer in a buffer of generated code. A thread's stack is set from outside (native/attach), then one of these is called.
void stacks_will_come(bool on);
void arm_with_stack(Thread* thread, uint64_t thread_pointer);
void arm_known(Thread* thread);      // it has its stack already
void give_up_stack(Thread* thread);  // it has no variables of libc's: it is not sampled

// Background thread. Notices the end of adopted threads, and where the stacks of new ones lie.
void tend_adopted_threads();

// The thread turned out to be one that starts through pthread_create: it registers itself now, as `known`.
void replace_adopted(Thread* known);

void adopted_after_fork();

// Async-signal-safe, and touches no thread-local variable. The adopted thread whose tick this is; null: of another.
Thread* adopted_thread(const siginfo_t* info);
// Async-signal-safe, in the handler, and touches none before it knows that they are the thread's own. False: return.
bool enter_adopted(Thread* thread, void* context);

}  // namespace sonde
