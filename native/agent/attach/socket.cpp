#include "attach/socket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <initializer_list>

#include "common/system.h"

namespace sonde {
namespace {

constexpr int kBodyWithinMs = 5'000;

// Ours alone, and no link that somebody else made for us.
bool is_private_folder(const char* path) {
  struct stat info = {};
  mkdir(path, 0700);
  return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() && (info.st_mode & 0777) == 0700;
}

bool read_whole(int fd, char* to, size_t bytes) {
  while (bytes) {
    pollfd ready = {fd, POLLIN, 0};
    if (poll(&ready, 1, kBodyWithinMs) <= 0) return false;
    const ssize_t count = recv(fd, to, bytes, 0);
    if (count <= 0) return false;
    to += count;
    bytes -= static_cast<size_t>(count);
  }
  return true;
}

bool send_whole(int fd, const char* from, size_t bytes) {
  while (bytes) {
    const ssize_t count = sendto(fd, from, bytes, MSG_NOSIGNAL, nullptr, 0);
    if (count <= 0) return false;
    from += count;
    bytes -= static_cast<size_t>(count);
  }
  return true;
}

}  // namespace

int listen_for_sonde(char* path, size_t capacity) {
  for (const char* place : {"/tmp", "/dev/shm"}) {
    char folder[64];
    snprintf(folder, sizeof folder, "%s/sonde-%u", place, geteuid());
    if (!is_private_folder(folder)) continue;
    snprintf(path, capacity, "%s/%d.sock", folder, process_id());
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    const int fd = move_high(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd < 0) continue;
    unlink(path);  // of a process that had this number before
    if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && listen(fd, 4) == 0) return fd;
    close(fd);
  }
  path[0] = 0;
  return -1;
}

int answer_caller(int listening) {
  const int fd = move_high(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC));
  if (fd < 0) return -1;
  ucred caller = {};
  socklen_t size = sizeof caller;
  const bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &caller, &size) == 0;
  if (known && (caller.uid == 0 || caller.uid == geteuid())) return fd;
  close(fd);
  return -1;
}

bool read_command(int fd, Command* command, char* body) {
  char line[64];
  size_t used = 0;
  while (used < sizeof line - 1) {
    if (!read_whole(fd, line + used, 1)) return false;
    if (line[used] == '\n') break;
    used++;
  }
  line[used] = 0;
  *command = Command{};
  unsigned long size = 0, number = 0;
  if (sscanf(line, "%15s %lu %lu", command->name, &size, &number) < 2 || size > kLongestBody) return false;
  command->size = size;
  command->number = static_cast<uint32_t>(number);
  if (!read_whole(fd, body, size)) return false;
  body[size] = 0;
  return true;
}

bool reply(int fd, bool ok, const char* text, size_t size) {
  char head[32];
  const int length = snprintf(head, sizeof head, "%s %zu\n", ok ? "ok" : "no", size);
  return send_whole(fd, head, static_cast<size_t>(length)) && send_whole(fd, text, size);
}

}  // namespace sonde
