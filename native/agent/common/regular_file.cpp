#include "common/regular_file.h"

#include <fcntl.h>
#include <unistd.h>

namespace sonde {

int open_regular(const char* path, FileOwner owner, struct stat* status) {
  // O_NONBLOCK matters for FIFOs only, which are refused below: without it the open itself waits for a writer.
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return -1;
  if (fstat(fd, status) == 0 && S_ISREG(status->st_mode) &&
      (owner == FileOwner::Anyone || status->st_uid == geteuid() || status->st_uid == 0)) {
    return fd;
  }
  close(fd);
  return -1;
}

}  // namespace sonde
