// exec and spawn as the program calls them: the successor is followed too, also with an environment of
// the program's own making; and no tick may arrive in the new program, where
// SIGPROF has its default action again and kills.
#include <alloca.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

#include "common/clock.h"
#include "common/system.h"
#include "core/agent.h"
#include "process/environment.h"
#include "signals/real.h"
#include "threads/registry.h"

namespace sonde {
namespace {

using Execve = int (*)(const char*, char* const[], char* const[]);
using Fexecve = int (*)(int, char* const[], char* const[]);
using Execveat = int (*)(int, const char*, char* const[], char* const[], int);
using Spawn = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                      char* const[], char* const[]);
Execve execve_cached, execvpe_cached;
Fexecve fexecve_cached;
Execveat execveat_cached;
Spawn spawn_cached, spawnp_cached;

// Is this process (and not a vfork child of it) about to be replaced?
bool is_us() { return agent_present() && process_id() == agent_pid(); }

// Ends the log and the ticks of this thread. A path that cannot be executed (programs try one folder of PATH
// after the other) ends nothing.
class Leaving {
 public:
  explicit Leaving(bool likely) {
    if (!is_us()) return;
    if (Thread* thread = current_thread()) {
      disarm_current(thread);
      disarmed_ = thread;
    }
    if (likely) agent_stop(log::EndReason::Exec);
  }
  ~Leaving() {  // the exec failed
    int saved = errno;
    if (is_us()) agent_resume();
    if (disarmed_) arm_current(disarmed_);
    errno = saved;
  }

 private:
  Thread* disarmed_ = nullptr;
};

}  // namespace
}  // namespace sonde

using namespace sonde;

#define SONDE_FOLLOWED(environment)                                                    \
  FollowedEnvironment followed_;                                                       \
  char** block_ = static_cast<char**>(alloca(followed_.bytes_needed(environment)));    \
  char* const* envp_ = followed_.build(environment, block_)

SONDE_EXPORT int execve(const char* path, char* const argv[], char* const envp[]) noexcept {
  auto call = real(&execve_cached, "execve");
  if (!agent_present()) return call(path, argv, envp);
  Leaving leaving(access(path, X_OK) == 0);
  SONDE_FOLLOWED(envp);
  return call(path, argv, envp_);
}

SONDE_EXPORT int execv(const char* path, char* const argv[]) noexcept { return execve(path, argv, environ); }

SONDE_EXPORT int execvpe(const char* file, char* const argv[], char* const envp[]) noexcept {
  auto call = real(&execvpe_cached, "execvpe");
  if (!agent_present()) return call(file, argv, envp);
  Leaving leaving(true);
  SONDE_FOLLOWED(envp);
  return call(file, argv, envp_);
}

SONDE_EXPORT int execvp(const char* file, char* const argv[]) noexcept { return execvpe(file, argv, environ); }

SONDE_EXPORT int fexecve(int fd, char* const argv[], char* const envp[]) noexcept {
  auto call = real(&fexecve_cached, "fexecve");
  if (!agent_present()) return call(fd, argv, envp);
  Leaving leaving(true);
  SONDE_FOLLOWED(envp);
  return call(fd, argv, envp_);
}

SONDE_EXPORT int execveat(int folder, const char* path, char* const argv[], char* const envp[], int flags) noexcept {
  auto call = real(&execveat_cached, "execveat");
  if (!agent_present()) return call(folder, path, argv, envp, flags);
  Leaving leaving(true);
  SONDE_FOLLOWED(envp);
  return call(folder, path, argv, envp_, flags);
}

// The list forms: gather the arguments, then as above.
#define SONDE_GATHER(first)                                                            \
  va_list count_list_, list_;                                                          \
  va_start(list_, first);                                                              \
  va_copy(count_list_, list_);                                                         \
  size_t count_ = 1;                                                                   \
  while (va_arg(count_list_, char*)) count_++;                                         \
  va_end(count_list_);                                                                 \
  char** argv_ = static_cast<char**>(alloca((count_ + 1) * sizeof(char*)));            \
  argv_[0] = const_cast<char*>(first);                                                 \
  for (size_t i_ = 1; i_ <= count_; i_++) argv_[i_] = va_arg(list_, char*)

SONDE_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  SONDE_GATHER(first);
  va_end(list_);
  return execve(path, argv_, environ);
}

SONDE_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  SONDE_GATHER(first);
  va_end(list_);
  return execvpe(file, argv_, environ);
}

SONDE_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  SONDE_GATHER(first);
  char* const* envp = va_arg(list_, char* const*);
  va_end(list_);
  return execve(path, argv_, envp);
}

SONDE_EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, char* const argv[], char* const envp[]) noexcept {
  auto call = real(&spawn_cached, "posix_spawn");
  if (!agent_present()) return call(pid, path, actions, attributes, argv, envp);
  SONDE_FOLLOWED(envp);
  return call(pid, path, actions, attributes, argv, envp_);
}

SONDE_EXPORT int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const argv[], char* const envp[]) noexcept {
  auto call = real(&spawnp_cached, "posix_spawnp");
  if (!agent_present()) return call(pid, file, actions, attributes, argv, envp);
  SONDE_FOLLOWED(envp);
  return call(pid, file, actions, attributes, argv, envp_);
}
