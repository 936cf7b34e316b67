// One line at the end of a file of the recording, from a thread of the program. Not async-signal-safe, but it only
// opens, writes and closes: no memory, no locks.
#pragma once

namespace sonde {

// Appends `length` bytes to FOLDER/raw/NAME. Does nothing where that would harm the program: beyond its limit of
// file sizes (SIGXFSZ), or when it has confined itself to the system calls that it needs (seccomp).
void append_to_raw(const char* name, const char* line, int length);

}  // namespace sonde
