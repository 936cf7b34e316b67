#include "jit/perf_map.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/regular_file.h"
#include "log/loss.h"

namespace sonde {

void PerfMap::set_pid(int pid) {
  snprintf(path_, sizeof path_, "/tmp/perf-%d.map", pid);
  at_ = 0;
  last_look_ns_ = 0;
}

bool PerfMap::poll(uint64_t now_ns, log::Writer& log) {
  struct stat status;
  // /tmp is open to all: what another user planted under our number is not ours to read.
  const int fd = open_regular(path_, FileOwner::UsOrRoot, &status);
  if (fd >= 0) {
    if (static_cast<uint64_t>(status.st_size) < at_) at_ = 0;  // started over
    char buffer[16384];
    ssize_t bytes;
    while ((bytes = pread(fd, buffer, sizeof buffer - 1, static_cast<off_t>(at_))) > 0) {
      buffer[bytes] = 0;
      char* line = buffer;
      while (char* end = static_cast<char*>(memchr(line, '\n', static_cast<size_t>(buffer + bytes - line)))) {
        *end = 0;
        write_line(line, last_look_ns_, log);
        line = end + 1;
      }
      if (line == buffer) {  // a line longer than the buffer, or one still being written
        if (bytes == sizeof buffer - 1) {
          count_loss(Loss::JitNamesLost);
          at_ += static_cast<uint64_t>(bytes);
          continue;
        }
        break;
      }
      at_ += static_cast<uint64_t>(line - buffer);
    }
    close(fd);
  }
  last_look_ns_ = now_ns;
  return at_ != 0;
}

void PerfMap::write_line(const char* line, uint64_t since_ns, log::Writer& log) {
  char* end;
  const uint64_t start = strtoull(line, &end, 16);
  const uint64_t size = strtoull(end, &end, 16);
  while (*end == ' ') ++end;
  if (start == 0 || size == 0 || *end == 0) {
    count_loss(Loss::JitNamesLost);
    return;
  }
  log.begin(log::Record::JitCode).number(since_ns).number(start).number(size).text(end).text("perfmap");
  log.end();
}

}  // namespace sonde
