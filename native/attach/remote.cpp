#include "remote.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "libraries.h"
#include "memory.h"

namespace sonde::attach {
namespace {

// glibc before 2.34 has threads and the loader's interface in libraries of their own.
constexpr const char* kLibraries[] = {"libc.so.", "libc-", "libpthread", "libdl", "ld-linux", "ld-"};

bool is_of_libc(const std::string& path) {
  const size_t slash = path.rfind('/');
  const char* name = path.c_str() + (slash == std::string::npos ? 0 : slash + 1);
  for (const char* start : kLibraries) {
    if (!std::strncmp(name, start, std::strlen(start))) return true;
  }
  return false;
}

uint64_t find_instruction(const dump::Library& library) {
  for (const dump::Mapping& one : dump::mappings()) {
    if (!one.executable || one.low < library.low || one.high > library.high) continue;
    std::vector<uint8_t> code(one.high - one.low);
    if (!dump::read_memory(one.low, code.data(), code.size())) continue;
    for (size_t i = 0; i + 1 < code.size(); i++) {
      if (code[i] == 0x0f && code[i + 1] == 0x05) return one.low + i;
    }
  }
  return 0;
}

}  // namespace

Memory::Memory(int pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", pid);
  file_ = open(path, O_RDWR | O_CLOEXEC);
}

Memory::~Memory() {
  if (file_ >= 0) close(file_);
}

bool Memory::read(uint64_t address, void* to, size_t bytes) const {
  return pread(file_, to, bytes, static_cast<off_t>(address)) == static_cast<ssize_t>(bytes);
}

bool Memory::write(uint64_t address, const void* from, size_t bytes) const {
  return pwrite(file_, from, bytes, static_cast<off_t>(address)) == static_cast<ssize_t>(bytes);
}

Libc find_libc(int pid) {
  Libc found;
  if (!dump::open_memory(pid) || !dump::read_libraries(pid)) {
    found.missing = "its memory";
    return found;
  }
  const struct {
    const char* name;
    uint64_t* at;
  } wanted[] = {{"pthread_create", &found.pthread_create}, {"pthread_detach", &found.pthread_detach},
                {"dlopen", &found.dlopen},                 {"dlsym", &found.dlsym},
                {"dlerror", &found.dlerror},               {"_r_debug", &found.loader_list}};
  for (const dump::Library& library : dump::libraries()) {
    uint64_t size = 0;
    if (library.path.find("/libsonde_agent") != std::string::npos) {
      const uint64_t at = dump::find_symbol(library, "sonde_attach_pages", &size);
      if (at && !dump::read_memory(at, &found.kept_pages, sizeof found.kept_pages)) found.kept_pages = 0;
    }
    if (!is_of_libc(library.path)) continue;
    for (const auto& one : wanted) {
      if (!*one.at) *one.at = dump::find_symbol(library, one.name, &size);
    }
    if (!found.system_call) found.system_call = find_instruction(library);
  }
  for (const auto& one : wanted) {
    if (!*one.at && !found.missing) found.missing = one.name;
  }
  if (!found.system_call && !found.missing) found.missing = "a system call";
  dump::close_memory();
  dump::forget_libraries();
  return found;
}

}  // namespace sonde::attach
