#include "process/follow.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

#include "core/agent.h"

namespace sonde {
namespace {

// Base names; a trailing '*' matches any ending.
constexpr const char* kHelpers[] = {
    "sh",       "bash",     "dash",    "zsh",     "busybox",  "env",      "timeout", "nice",    "nohup",  "setsid",
    "xargs",    "sleep",    "cat",     "ls",      "cp",       "mv",       "rm",      "mkdir",   "ln",     "chmod",
    "uname",    "hostname", "which",   "whoami",  "id",       "date",     "tr",      "sed",     "awk",    "mawk",
    "gawk",     "grep",     "cut",     "head",    "tail",     "sort",     "wc",      "tee",     "true",   "false",
    "test",     "expr",     "basename", "dirname", "readlink", "realpath", "stat",   "file",    "find",   "ps",
    "lscpu",    "lspci",    "ldd",     "ldconfig", "numactl",  "taskset",  "git*",   "make",    "gmake",  "cmake",
    "ninja",    "gcc*",     "g++*",    "cc",      "c++",      "cc1*",     "collect2", "lto*",   "as",     "ld*",
    "ar",       "nm",       "objdump", "objcopy", "strip",    "readelf",  "clang*",  "x86_64-linux-gnu-*",
    "nvcc",     "ptxas",    "cicc",    "fatbinary", "nvidia-smi", "rocm*", "hipcc",  "ccache",  "pkg-config",
    "gdb",      "addr2line", "c++filt", "tar",    "gzip",     "xz",       "curl",    "wget",    "ssh",    "setpriv",
    "su",       "sudo",     "strace",  "perf",    "py-spy",
};

const char* program(char* path, size_t capacity) {
  ssize_t size = readlink("/proc/self/exe", path, capacity - 1);
  path[size > 0 ? size : 0] = 0;
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

EarlierCpu earlier;

bool is_helper(const char* name) {
  for (const char* helper : kHelpers) {
    size_t size = std::strlen(helper);
    if (helper[size - 1] == '*' ? !std::strncmp(name, helper, size - 1) : !std::strcmp(name, helper)) return true;
  }
  return false;
}

}  // namespace

const EarlierCpu& earlier_cpu() { return earlier; }

bool should_follow(const Options& options, log::ProcessOrigin* origin) {
  char path[512];
  const char* name = program(path, sizeof path);
  if (const char* told = getenv(kExecVariable)) {
    unsigned long long thread, user, system;
    int pid = 0;
    if (sscanf(told, "%d:%llu:%llu:%llu", &pid, &thread, &user, &system) == 4 && pid == agent_pid()) {
      earlier = {thread, user, system};
    }
    unsetenv(kExecVariable);
  }
  bool ours = options.launcher == 0 || getppid() == options.launcher;
  *origin = ours ? log::ProcessOrigin::Started : log::ProcessOrigin::Executed;
  if (ours || !is_helper(name)) return true;
  note_unfollowed("helper program");
  return false;
}

void note_unfollowed(const char* why) {
  char path[512], exe[512], line[700];
  program(exe, sizeof exe);
  snprintf(path, sizeof path, "%s/raw/unfollowed.tsv", agent_options().folder);
  int size = snprintf(line, sizeof line, "%d\t%s\t%s\n", agent_pid(), why, exe);
  int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return;
  if (write(fd, line, static_cast<size_t>(size)) < 0) {  // nowhere left to tell
  }
  close(fd);
}

}  // namespace sonde
