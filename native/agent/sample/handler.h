// The choke point: a signal becomes one record in the thread's ring.
#pragma once

#include <signal.h>

#include <cstdint>

namespace sonde {

// Async-signal-safe. False: the signal is not Sonde's, the caller passes it on.
bool handle_sample_signal(siginfo_t* info, void* context);

// Async-signal-safe. True: the signal, which somebody sent, came in the middle of a sampling of this thread, and will be
// sent again at its end.
bool put_off_until_sampled(int signal, const siginfo_t* info, const void* context);

// Async-signal-safe. How many of Sonde's signals this thread has had.
uint32_t ticks_on_this_thread();

}  // namespace sonde
