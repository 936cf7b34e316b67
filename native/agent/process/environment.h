// The environment for a child: the program's own, plus what the agent needs to follow it, or without what would keep
// a program of another libc from starting.
// Async-signal-safe after remember_environment: it may be built between vfork and exec.
#pragma once

#include <cstddef>

#include "process/loader.h"

namespace sonde {

// Not async-signal-safe. Keeps copies of LD_PRELOAD and SONDE_AGENT_* as they were at start.
void remember_environment();

class FollowedEnvironment {
 public:
  explicit FollowedEnvironment(Loader loader) : loader_(loader) {}
  size_t bytes_needed(char* const* original);
  // `block` has that many bytes and must outlive the result.
  char* const* build(char* const* original, char** block);

 private:
  char* const* without_us(char* const* original, char** block);

  const Loader loader_;
  size_t count_ = 0;
};

}  // namespace sonde
