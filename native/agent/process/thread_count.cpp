// fopen as the program calls it: of "/proc/self/stat" it gets the line with its own number of threads, without Sonde's.
// CPython (3.12 and later) reads it after each fork and warns of more than one. Everything else goes straight through.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "background/background.h"
#include "process/confined.h"
#include "signals/real.h"
#include "threads/own.h"

namespace sonde {
namespace {

using Fopen = FILE* (*)(const char*, const char*);
Fopen fopen_cached, fopen64_cached;

constexpr int kStateField = 3, kThreadsField = 20;
constexpr unsigned kCloseOnExec = 1;  // MFD_CLOEXEC; glibc has memfd_create since 2.27 only

bool is_asked_for(const char* path, const char* mode) {
  return path[0] == '/' && path[1] == 'p' && !std::strcmp(path, "/proc/self/stat") && mode[0] == 'r' &&
         !std::strchr(mode, '+') && !is_confined() && background_exists();
}

// The number of threads in the line, which is «pid (name) state ...», and a name may hold anything.
char* find_threads(char* line) {
  char* at = std::strrchr(line, ')');
  for (int field = kStateField - 1; at && field < kThreadsField; field++) {
    at = std::strchr(at, ' ');
    if (at) at++;
  }
  return at;
}

// A file in memory that holds the line; -1: none.
int adjusted_line() {
  char line[2048];
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t bytes = read(fd, line, sizeof line - 1);
  close(fd);
  if (bytes <= 0) return -1;
  line[bytes] = 0;
  char* const threads = find_threads(line);
  char* behind = nullptr;
  const long count = threads ? std::strtol(threads, &behind, 10) : 0;
  const int memory = count > 1 ? static_cast<int>(syscall(SYS_memfd_create, "stat", kCloseOnExec)) : -1;
  if (memory < 0) return -1;
  const auto head = static_cast<int>(threads - line);
  if (dprintf(memory, "%.*s%ld%s", head, line, count - 1 - own_thread_count(), behind) > 0 && lseek(memory, 0, SEEK_SET) == 0) return memory;
  close(memory);
  return -1;
}

FILE* open_stream(Fopen call, const char* path, const char* mode) {
  if (!is_asked_for(path, mode)) return call(path, mode);
  const int saved = errno;
  const int fd = adjusted_line();
  FILE* const stream = fd >= 0 ? fdopen(fd, mode) : nullptr;
  if (fd >= 0 && !stream) close(fd);
  if (fd >= 0 && stream && !std::strchr(mode, 'e')) fcntl(fd, F_SETFD, 0);  // as without Sonde
  errno = saved;
  return stream ? stream : call(path, mode);
}

}  // namespace
}  // namespace sonde

using namespace sonde;

SONDE_EXPORT FILE* fopen(const char* path, const char* mode) {
  return open_stream(real(&fopen_cached, "fopen"), path, mode);
}

SONDE_EXPORT FILE* fopen64(const char* path, const char* mode) {
  return open_stream(real(&fopen64_cached, "fopen64"), path, mode);
}
