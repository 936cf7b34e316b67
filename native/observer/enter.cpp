// Lets the observer of operator calls into native torch programs, and into nothing else.
//
// Preloaded only by `sonde run --shapes`. The observer itself (sonde/record/frameworks/torch_native/calls.cpp) is built for
// one torch and linked to it; preloading that one would drag libtorch into every shell and helper of the job.
// So this library, which needs libc alone, looks whether the process has that very torch, and only
// then opens the observer. In Python it stays out: windows see more there.
//
// The preloaded library's constructor runs after those of the program's own libraries; whatever of torch
// is not initialised yet is so by dlopen, since the observer depends on it.
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

constexpr const char* kObserver = "SONDE_AGENT_OBSERVER";  // path of the built library
constexpr const char* kTorch = "SONDE_AGENT_OBSERVER_TORCH";  // path of the libtorch_cpu.so it was built for
constexpr const char* kFolder = "SONDE_AGENT_FOLDER";
constexpr const char* kRegister = "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE";

// One line for `losses`: why this process has no shapes.
void note(const char* why) {
  const char* folder = getenv(kFolder);
  if (!folder) return;
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/raw/%d.shapes.txt", folder, static_cast<int>(getpid()));
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  dprintf(fd, "%s\n", why);
  close(fd);
}

bool same_file(const char* a, const char* b) {
  char first[PATH_MAX], second[PATH_MAX];
  return realpath(a, first) && realpath(b, second) && !strcmp(first, second);
}

__attribute__((constructor)) void begin() {
  const char* observer = getenv(kObserver);
  const char* torch = getenv(kTorch);
  if (!observer || !torch || dlsym(RTLD_DEFAULT, "Py_IsInitialized")) return;
  void* entry = dlsym(RTLD_DEFAULT, kRegister);
  if (!entry) return;
  Dl_info found = {};
  if (!dladdr(entry, &found) || !found.dli_fname || !same_file(found.dli_fname, torch)) {
    note("the process has another torch than the one that the observer was built for");
    return;
  }
  if (!dlopen(observer, RTLD_NOW | RTLD_LOCAL)) note(dlerror());
}

}  // namespace
