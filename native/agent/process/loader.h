// Which loader will start a program? Ours is a library of glibc: a program of another libc (musl) that is told to
// preload it does not start, and a 32-bit one complains. Async-signal-safe: asked between vfork and exec.
#pragma once

namespace sonde {

enum class Loader {
  Glibc,  // or none (a static program, which preloads nothing), or not known: the exec will tell
  Other,
};

Loader loader_of(const char* path);
Loader loader_of_descriptor(int fd);

// As execvp finds it; `room` is filled when a folder of PATH holds it. Null: not found.
const char* find_in_path(const char* file, char* room, unsigned long capacity);

}  // namespace sonde
