// Has the program confined itself to the system calls that it needs (seccomp)? A filter may kill for any other. It binds
// the thread that installs it and those that it starts from then on. Async-signal-safe.
#pragma once

namespace sonde {

// Announced: as no_new_privs, or at once. Sonde opens nothing more in the program's threads.
bool is_confined();

// Installed. Sonde's handler then makes no system call of its own, threads that start are not sampled (loss
// threads_confined), and clocks are left to the kernel.
bool is_filtered();

}  // namespace sonde
