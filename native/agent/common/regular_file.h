// Opens files that others may have put there. A FIFO would block the reader, a device may do anything, a link leads
// elsewhere: all refused. Not async-signal-safe by promise, but only system calls.
#pragma once

#include <sys/stat.h>

namespace sonde {

enum class FileOwner { Anyone, UsOrRoot };

// A descriptor for reading and what fstat says, or -1: not there, not a regular file, a link, not of that owner.
int open_regular(const char* path, FileOwner owner, struct stat* status);

}  // namespace sonde
