// A blocking write to a pipe or socket that is interrupted after some bytes returns their number: no restart
// flag helps. Programs that never met a signal take that for success (Python's unbuffered stdout
// loses the rest). So a write that came back short while a tick arrived is carried on with the rest.
// Async-signal-safe like the originals.
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/agent.h"
#include "sample/handler.h"
#include "signals/real.h"

namespace sonde {
namespace {

using Write = ssize_t (*)(int, const void*, size_t);
using Send = ssize_t (*)(int, const void*, size_t, int);
Write write_cached;
Send send_cached;

bool is_blocking(int fd) {
  int saved = errno;
  int flags = fcntl(fd, F_GETFL);
  errno = saved;
  return flags >= 0 && !(flags & O_NONBLOCK);
}

// `call(at, size)` does the real thing. An error after some bytes is not lost: it comes back with the next call.
template <typename Call>
ssize_t whole(int fd, const void* data, size_t size, Call call) {
  uint32_t ticks = ticks_on_this_thread();
  ssize_t done = call(data, size);
  while (done > 0 && static_cast<size_t>(done) < size && ticks_on_this_thread() != ticks && is_blocking(fd)) {
    ticks = ticks_on_this_thread();
    int saved = errno;
    ssize_t more = call(static_cast<const char*>(data) + done, size - static_cast<size_t>(done));
    if (more <= 0) {
      errno = saved;
      break;
    }
    done += more;
  }
  return done;
}

}  // namespace

void resolve_writes() {
  real(&write_cached, "write");
  real(&send_cached, "send");
}

}  // namespace sonde

SONDE_EXPORT ssize_t write(int fd, const void* data, size_t size) {
  auto call = sonde::real(&sonde::write_cached, "write");
  if (!sonde::agent_sampling()) return call(fd, data, size);
  return sonde::whole(fd, data, size, [&](const void* at, size_t n) { return call(fd, at, n); });
}

SONDE_EXPORT ssize_t send(int fd, const void* data, size_t size, int flags) {
  auto call = sonde::real(&sonde::send_cached, "send");
  if (!sonde::agent_sampling() || (flags & MSG_DONTWAIT)) return call(fd, data, size, flags);
  return sonde::whole(fd, data, size, [&](const void* at, size_t n) { return call(fd, at, n, flags); });
}
