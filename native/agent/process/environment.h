// The environment for a child: the program's own, plus what the agent needs to follow it.
// Async-signal-safe after remember_environment: it may be built between vfork and exec.
#pragma once

#include <cstddef>

namespace sonde {

// Not async-signal-safe. Keeps copies of LD_PRELOAD and SONDE_AGENT_* as they were at start.
void remember_environment();

class FollowedEnvironment {
 public:
  size_t bytes_needed(char* const* original);
  // `block` has that many bytes and must outlive the result.
  char* const* build(char* const* original, char** block);

 private:
  size_t count_ = 0;
};

}  // namespace sonde
