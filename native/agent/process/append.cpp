#include "process/append.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/agent.h"
#include "process/confined.h"

namespace sonde {
namespace {

bool has_room(int fd, int length) {
  rlimit limit = {};
  struct stat info = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  return fstat(fd, &info) == 0 && static_cast<rlim_t>(info.st_size) + static_cast<rlim_t>(length) <= limit.rlim_cur;
}

}  // namespace

void append_to_raw(const char* name, const char* line, int length) {
  if (is_confined()) return;
  const int saved = errno;
  char path[480];
  snprintf(path, sizeof path, "%s/raw/%s", agent_options().folder, name);
  int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd >= 0) {
    if (has_room(fd, length) && write(fd, line, static_cast<size_t>(length)) < 0) {  // nowhere left to tell
    }
    close(fd);
  }
  errno = saved;
}

}  // namespace sonde
