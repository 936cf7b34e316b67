// exec and spawn as the program calls them: the successor is followed too, also with an environment of
// the program's own making; and no tick may arrive in the new program, where
// SIGPROF has its default action again and kills.
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

#include "common/clock.h"
#include "common/system.h"
#include "core/agent.h"
#include "process/confined.h"
#include "process/ended.h"
#include "process/environment.h"
#include "process/follow.h"
#include "process/loader.h"
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
    if (!likely) return;
    agent_stop(log::EndReason::Exec);
    note_end("exec");
    noted_ = true;
  }
  ~Leaving() {  // the exec failed
    int saved = errno;
    if (noted_) note_end("stay");
    if (is_us()) agent_resume();
    if (disarmed_) arm_current(disarmed_);
    errno = saved;
  }

 private:
  Thread* disarmed_ = nullptr;
  bool noted_ = false;
};

constexpr const char kOtherLibc[] = "a program of another libc or architecture";

// Of the program that is about to take this process's place.
Loader note_loader(const char* path) {
  const Loader loader = path && !is_filtered() ? loader_of(path) : Loader::Glibc;
  if (loader == Loader::Other) note_unfollowed(kOtherLibc, process_id(), path);
  return loader;
}

Loader note_loader(int fd, const char* path) {
  const Loader loader = loader_of_descriptor(fd);
  if (loader == Loader::Other) note_unfollowed(kOtherLibc, process_id(), path);
  return loader;
}

// A spawned one's number is known afterwards.
int note_spawned(int error, Loader loader, pid_t pid, const char* path) {
  if (error == 0 && loader == Loader::Other) note_unfollowed(kOtherLibc, pid, path);
  return error;
}

}  // namespace
}  // namespace sonde

using namespace sonde;

#define SONDE_FOLLOWED(environment, loader)                                            \
  FollowedEnvironment followed_(loader);                                                       \
  char** block_ = static_cast<char**>(alloca(followed_.bytes_needed(environment)));    \
  char* const* envp_ = agent_visits() ? environment : followed_.build(environment, block_)

SONDE_EXPORT int execve(const char* path, char* const argv[], char* const envp[]) noexcept {
  auto call = real(&execve_cached, "execve");
  if (!agent_present()) return call(path, argv, envp);
  const bool likely = access(path, X_OK) == 0;
  Leaving leaving(likely);
  SONDE_FOLLOWED(envp, note_loader(likely ? path : nullptr));
  return call(path, argv, envp_);
}

SONDE_EXPORT int execv(const char* path, char* const argv[]) noexcept { return execve(path, argv, environ); }

SONDE_EXPORT int execvpe(const char* file, char* const argv[], char* const envp[]) noexcept {
  auto call = real(&execvpe_cached, "execvpe");
  if (!agent_present()) return call(file, argv, envp);
  char room[512];
  const char* path = find_in_path(file, room, sizeof room);
  Leaving leaving(path && access(path, X_OK) == 0);
  SONDE_FOLLOWED(envp, note_loader(path));
  return call(file, argv, envp_);
}

SONDE_EXPORT int execvp(const char* file, char* const argv[]) noexcept { return execvpe(file, argv, environ); }

SONDE_EXPORT int fexecve(int fd, char* const argv[], char* const envp[]) noexcept {
  auto call = real(&fexecve_cached, "fexecve");
  if (!agent_present()) return call(fd, argv, envp);
  Leaving leaving(true);
  SONDE_FOLLOWED(envp, note_loader(fd, "fexecve"));
  return call(fd, argv, envp_);
}

SONDE_EXPORT int execveat(int folder, const char* path, char* const argv[], char* const envp[], int flags) noexcept {
  auto call = real(&execveat_cached, "execveat");
  if (!agent_present()) return call(folder, path, argv, envp, flags);
  Leaving leaving(true);
  const int fd = *path ? openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : folder;
  const Loader loader = fd >= 0 ? note_loader(fd, *path ? path : "execveat") : Loader::Glibc;
  if (*path && fd >= 0) close(fd);
  SONDE_FOLLOWED(envp, loader);
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
                             const posix_spawnattr_t* attributes, char* const argv[], char* const envp[]) {
  auto call = real(&spawn_cached, "posix_spawn");
  if (!agent_present()) return call(pid, path, actions, attributes, argv, envp);
  const Loader loader = loader_of(path);
  SONDE_FOLLOWED(envp, loader);
  pid_t child = 0;
  const int error = call(&child, path, actions, attributes, argv, envp_);
  if (error == 0 && pid) *pid = child;
  return note_spawned(error, loader, child, path);
}

SONDE_EXPORT int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const argv[], char* const envp[]) {
  auto call = real(&spawnp_cached, "posix_spawnp");
  if (!agent_present()) return call(pid, file, actions, attributes, argv, envp);
  char room[512];
  const char* path = find_in_path(file, room, sizeof room);
  const Loader loader = path ? loader_of(path) : Loader::Glibc;
  SONDE_FOLLOWED(envp, loader);
  pid_t child = 0;
  const int error = call(&child, file, actions, attributes, argv, envp_);
  if (error == 0 && pid) *pid = child;
  return note_spawned(error, loader, child, path);
}
