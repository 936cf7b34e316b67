// Everything at once that is hard on an in-process sampler: thread churn, fork, dlopen and dlclose,
// exceptions through many frames, signals of its own, mapping and unmapping. Prints "done".
// usage: soak SECONDS LIBRARY   (LIBRARY: any shared object to load and unload, with `int soak_work(int)`)
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>

#include "burn.h"

static std::atomic<bool> stop{false};
static std::atomic<long> faults{0}, thrown{0}, loads{0}, forks{0}, threads{0};
static const char* library;

__attribute__((noinline)) static int deep(int n) {
  volatile char room[64] = {};
  room[n & 63] = 1;
  if (n == 0) throw std::runtime_error("soak");
  return deep(n - 1) + room[n & 63];
}

static void* throwing(void*) {
  while (!stop) {
    try {
      deep(40);
    } catch (const std::exception&) {
      thrown++;
    }
  }
  return nullptr;
}

static void* loading(void*) {
  while (!stop) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) abort();
    auto* work = reinterpret_cast<int (*)(int)>(dlsym(handle, "soak_work"));
    if (work(100000) < 0) abort();
    dlclose(handle);
    loads++;
  }
  return nullptr;
}

static void* short_lived(void*) {
  burn_s(0.0005);
  return nullptr;
}

static void* churning(void*) {
  while (!stop) {
    pthread_t ids[4];
    for (auto& id : ids) {
      if (pthread_create(&id, nullptr, short_lived, nullptr)) abort();
      threads++;
    }
    for (auto& id : ids) pthread_join(id, nullptr);
  }
  return nullptr;
}

static void* mapping(void*) {
  while (!stop) {
    auto* memory = static_cast<volatile char*>(
        mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (int i = 0; i < 1 << 20; i += 4096) memory[i] = 1;
    munmap(const_cast<char*>(memory), 1 << 20);
  }
  return nullptr;
}

static long peak_kib() {
  FILE* status = fopen("/proc/self/status", "r");
  char line[256];
  long kib = 0;
  while (status && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld", &kib);
  if (status) fclose(status);
  return kib;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  double seconds = atof(argv[1]);
  library = argv[2];
  pthread_t ids[5];
  void* (*routines[])(void*) = {throwing, loading, churning, mapping, throwing};
  for (int i = 0; i < 5; i++) pthread_create(&ids[i], nullptr, routines[i], nullptr);
  double end = cpu_s(CLOCK_MONOTONIC) + seconds;
  while (cpu_s(CLOCK_MONOTONIC) < end) {
    pid_t child = fork();
    if (child == 0) {
      burn_s(forks % 8 ? 0.005 : 0.2);  // a short-lived child earns no log
      _exit(7);
    }
    int status = 0;
    if (child > 0 && (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)) abort();
    forks++;
    burn_s(0.02);
  }
  stop = true;
  for (auto& id : ids) pthread_join(id, nullptr);
  fprintf(stderr, "threads %ld loads %ld thrown %ld forks %ld peak_kib %ld\n", threads.load(), loads.load(),
          thrown.load(), forks.load(), peak_kib());
  puts("done");
  return 0;
}
