// The place where a process's agent is spoken to: a socket in a folder of its user's alone.
// Not async-signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde {

// Listens at /tmp/sonde-UID/PID.sock, or below /dev/shm where that cannot be. -1: nowhere.
int listen_for_sonde(char* path, size_t capacity);

// The next caller, if it is the same user or root; -1: none. Whoever else calls is hung up on.
int answer_caller(int listening);

// One command: "NAME SIZE [NUMBER]\n" and SIZE bytes. False: the caller is gone, or makes no sense.
struct Command {
  char name[16];
  uint32_t number;
  size_t size;
};
constexpr size_t kLongestBody = 64u << 10;
bool read_command(int fd, Command* command, char* body);
// "ok SIZE\n" or "no SIZE\n", and the bytes.
bool reply(int fd, bool ok, const char* text, size_t size);

}  // namespace sonde
