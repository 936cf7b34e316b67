// Calling the program's handler for a signal that arrived at Sonde's.
#pragma once

#include <signal.h>

namespace sonde {

// Async-signal-safe. Calls the handler of `action` on the stack that the kernel would have chosen for it without
// Sonde. Does not return when that is another than the one that we stand on: the kernel's frame is moved there,
// and the handler returns from it to the interrupted code. So nothing is left on Sonde's stack while
// the program's handler runs, which may take ticks, leave by siglongjmp or switch to another context.
void deliver(int signal, const struct sigaction& action, siginfo_t* info, void* context);

}  // namespace sonde
