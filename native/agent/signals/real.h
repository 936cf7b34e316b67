// The functions of libc behind the ones that Sonde interposes.
#pragma once

#include <dlfcn.h>
#include <signal.h>

namespace sonde {

// Not async-signal-safe on first use: the constructor calls every one that handlers may need.
template <typename F>
inline F real(F* cached, const char* name) {
  F found = __atomic_load_n(cached, __ATOMIC_ACQUIRE);
  if (__builtin_expect(!found, false)) {
    found = reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
    __atomic_store_n(cached, found, __ATOMIC_RELEASE);
  }
  return found;
}

// Not async-signal-safe: finds the originals that handlers of the program may need.
void resolve_system_calls();
void resolve_writes();
void resolve_waits();
void resolve_masked_waits();

int real_sigaction(int signal, const struct sigaction* next, struct sigaction* previous);
int real_sigmask(int how, const sigset_t* set, sigset_t* previous);

}  // namespace sonde

#define SONDE_EXPORT extern "C" __attribute__((visibility("default")))
