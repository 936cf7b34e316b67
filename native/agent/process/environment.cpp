#include "process/environment.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "common/clock.h"
#include "common/system.h"
#include "core/agent.h"
#include "process/follow.h"

namespace sonde {
namespace {

constexpr size_t kMaxOurs = 16;
char storage[4096];
char* ours[kMaxOurs];  // "SONDE_AGENT_...=..." as at start
size_t our_count = 0;
char library[512];     // path of this library

constexpr const char kPreload[] = "LD_PRELOAD=";
constexpr size_t kExecBytes = 128;

const char* value_of(char* const* environment, const char* assignment) {
  for (size_t i = 0; environment && environment[i]; i++) {
    if (!std::strncmp(environment[i], assignment, std::strlen(assignment))) {
      return environment[i] + std::strlen(assignment);
    }
  }
  return nullptr;
}

bool has(char* const* environment, const char* assignment) {
  const char* equals = std::strchr(assignment, '=');
  for (size_t i = 0; environment && environment[i]; i++) {
    if (!std::strncmp(environment[i], assignment, static_cast<size_t>(equals - assignment) + 1)) return true;
  }
  return false;
}

// Is this entry of LD_PRELOAD a library of Sonde's? They all lie in one folder.
bool is_ours(const char* entry, size_t size) {
  const char* slash = std::strrchr(library, '/');
  const auto folder = slash ? static_cast<size_t>(slash - library) + 1 : 0;
  if (!folder || size <= folder || std::strncmp(entry, library, folder)) return false;
  return !std::memchr(entry + folder, '/', size - folder);
}

}  // namespace

void remember_environment() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(&remember_environment), &info) && info.dli_fname &&
      std::strlen(info.dli_fname) < sizeof library) {
    std::strcpy(library, info.dli_fname);
  }
  size_t used = 0;
  our_count = 0;
  for (size_t i = 0; environ && environ[i] && our_count < kMaxOurs; i++) {
    size_t size = std::strlen(environ[i]) + 1;
    if (std::strncmp(environ[i], "SONDE_AGENT_", 12) || used + size > sizeof storage) continue;
    std::memcpy(storage + used, environ[i], size);
    ours[our_count++] = storage + used;
    used += size;
  }
}

size_t FollowedEnvironment::bytes_needed(char* const* original) {
  count_ = 0;
  while (original && original[count_]) count_++;
  const char* preload = value_of(original, kPreload);
  return (count_ + our_count + 3) * sizeof(char*) + kExecBytes + sizeof kPreload + sizeof library + 2 +
         (preload ? std::strlen(preload) : 0);
}

char* const* FollowedEnvironment::without_us(char* const* original, char** block) {
  size_t n = 0;
  char* text = reinterpret_cast<char*>(block + count_ + our_count + 3);
  bool seen = false;
  for (size_t i = 0; i < count_; i++) {
    block[n++] = original[i];
    if (std::strncmp(original[i], kPreload, sizeof kPreload - 1)) continue;
    if (std::exchange(seen, true)) {  // the loader reads the first
      n--;
      continue;
    }
    char* const start = stpcpy(text, kPreload);
    char* end = start;
    for (const char* at = original[i] + sizeof kPreload - 1; *at;) {  // separated by colons or spaces
      const size_t size = std::strcspn(at, ": ");
      if (size && !is_ours(at, size)) {
        if (end != start) *end++ = ':';
        std::memcpy(end, at, size);
        end += size;
      }
      at += size;
      if (*at) at++;
    }
    *end = 0;
    block[n - 1] = text;
    if (end == start) n--;
  }
  block[n] = nullptr;
  return block;
}

char* const* FollowedEnvironment::build(char* const* original, char** block) {
  if (loader_ == Loader::Other) return without_us(original, block);
  size_t n = 0;
  char* text = reinterpret_cast<char*>(block + count_ + our_count + 3);
  const char* preload = value_of(original, kPreload);
  bool preloaded = preload && library[0] && std::strstr(preload, library);
  for (size_t i = 0; i < count_; i++) {
    if (!preloaded && library[0] && !std::strncmp(original[i], kPreload, sizeof kPreload - 1)) continue;
    block[n++] = original[i];
  }
  for (size_t i = 0; i < our_count; i++) {
    if (!has(original, ours[i])) block[n++] = ours[i];
  }
  if (process_id() == agent_pid()) {  // replaced, not a child: say how much CPU time is in the log
    block[n++] = text;
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    auto ns = [](const timeval& t) {
      return static_cast<unsigned long long>(t.tv_sec) * 1'000'000'000u + static_cast<unsigned long long>(t.tv_usec) * 1000u;
    };
    text += snprintf(text, kExecBytes, "%s=%d:%llu:%llu:%llu", kExecVariable, agent_pid(),
                     static_cast<unsigned long long>(thread_cpu_ns()), ns(usage.ru_utime), ns(usage.ru_stime)) +
            1;
  }
  if (!preloaded && library[0]) {
    block[n++] = text;
    char* end = stpcpy(stpcpy(text, kPreload), library);
    if (preload && *preload) stpcpy(stpcpy(end, ":"), preload);
  }
  block[n] = nullptr;
  return block;
}

}  // namespace sonde
