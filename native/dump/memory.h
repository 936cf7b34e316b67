// The memory of the process that is looked at, through /proc/PID/mem, with a cache: a walk reads the same pages many times.
// One process at a time, from one thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde::dump {

// False with errno set: not allowed, or gone.
bool open_memory(int pid);
void close_memory();

// All of it or nothing.
bool read_memory(uint64_t address, void* to, size_t bytes);

// Reads it now, so that later reads see this moment.
void keep_memory(uint64_t address, uint64_t bytes);

// Another thread is looked at: what can have changed is read again. Code and unwind tables are kept.
void forget_changing_memory();

}  // namespace sonde::dump
