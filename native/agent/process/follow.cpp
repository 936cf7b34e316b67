#include "process/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "core/agent.h"
#include "process/append.h"
#include "process/confined.h"
#include "process/ended.h"

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

constexpr const char* kFirstVariable = "SONDE_AGENT_FIRST";    // pid of the process that `sonde run` started
constexpr const char* kFosterVariable = "SONDE_AGENT_FOSTER";  // pid that adopts orphans when Sonde does not
EarlierCpu earlier;
int first_pid = 0, foster_pid = 1;

// The process that `sonde run` started, and no daemon that it adopted: the first to come says so to all others.
bool is_first(const Options& options) {
  if (const char* foster = getenv(kFosterVariable)) foster_pid = atoi(foster);
  if (const char* told = getenv(kFirstVariable)) {
    first_pid = atoi(told);
  } else if (syscall(SYS_getppid) == options.launcher) {
    first_pid = agent_pid();
    char text[16];
    snprintf(text, sizeof text, "%d", first_pid);
    setenv(kFirstVariable, text, 1);
  }
  return first_pid == agent_pid();
}

bool is_helper(const char* name) {
  for (const char* helper : kHelpers) {
    size_t size = std::strlen(helper);
    if (helper[size - 1] == '*' ? !std::strncmp(name, helper, size - 1) : !std::strcmp(name, helper)) return true;
  }
  return false;
}

}  // namespace

const EarlierCpu& earlier_cpu() { return earlier; }
int first_process() { return first_pid; }
int foster_parent() { return foster_pid; }

bool is_helper_program() {
  char path[512];
  return is_helper(program(path, sizeof path));
}

bool should_follow(const Options& options, log::ProcessOrigin* origin) {
  char path[512];
  const char* name = program(path, sizeof path);
  begin_account();
  const bool ours = options.launcher == 0 || is_first(options);
  *origin = ours ? log::ProcessOrigin::Started : log::ProcessOrigin::Executed;
  if (!ours && is_helper(name)) {
    // kExecVariable stays: what this helper may exec counts from where the last log ended.
    note_unfollowed("helper program");
    return false;
  }
  if (const char* told = getenv(kExecVariable)) {
    unsigned long long thread, user, system;
    int pid = 0;
    if (sscanf(told, "%d:%llu:%llu:%llu", &pid, &thread, &user, &system) == 4 && pid == agent_pid()) {
      earlier = {thread, user, system};
    }
    unsetenv(kExecVariable);
  }
  return true;
}

void note_unfollowed(const char* why) {
  if (is_confined()) return;
  char exe[512];
  program(exe, sizeof exe);
  note_unfollowed(why, agent_pid(), exe);
}

void note_unfollowed(const char* why, int pid, const char* exe) {
  char line[700];
  int size = snprintf(line, sizeof line, "%d\t%s\t%s\n", pid, why, exe);
  if (size <= 0) return;
  if (static_cast<size_t>(size) >= sizeof line) size = sizeof line - 1;
  append_to_raw("unfollowed.tsv", line, size);
}

}  // namespace sonde
