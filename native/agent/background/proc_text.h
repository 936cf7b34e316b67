// Short files of /proc, as the log tells them. Not async-signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde {

// The first `capacity` bytes of a file; 0 when it cannot be read. Adds no zero byte.
size_t read_file(const char* path, char* out, size_t capacity);

// Empty for a thread that has ended.
void read_thread_name(int tid, char name[16]);

// The first 13 digits of the boot's id: kernel addresses mean something only as long as it lives.
uint64_t read_boot_id();

}  // namespace sonde
