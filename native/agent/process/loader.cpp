#include "process/loader.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

namespace sonde {
namespace {

constexpr int kMostScripts = 4;  // interpreters that are scripts themselves, as the kernel allows
constexpr const char kOurLoader[] = "ld-linux";

Loader loader_at(const char* path, int depth);

Loader loader_of_elf(int fd, const Elf64_Ehdr& file) {
  if (file.e_ident[EI_CLASS] != ELFCLASS64 || file.e_machine != EM_X86_64) return Loader::Other;
  for (unsigned i = 0; i < file.e_phnum && file.e_phentsize == sizeof(Elf64_Phdr); i++) {
    Elf64_Phdr segment;
    const auto at = static_cast<off_t>(file.e_phoff + i * sizeof segment);
    if (pread(fd, &segment, sizeof segment, at) != sizeof segment) return Loader::Glibc;
    if (segment.p_type != PT_INTERP) continue;
    char name[256] = {};
    const size_t size = segment.p_filesz < sizeof name - 1 ? segment.p_filesz : sizeof name - 1;
    if (pread(fd, name, size, static_cast<off_t>(segment.p_offset)) <= 0) return Loader::Glibc;
    const char* slash = std::strrchr(name, '/');
    const char* base = slash ? slash + 1 : name;
    return std::strncmp(base, kOurLoader, sizeof kOurLoader - 1) ? Loader::Other : Loader::Glibc;
  }
  return Loader::Glibc;
}

// «#! /path/of/interpreter argument»
Loader loader_of_script(char* line, int depth) {
  char* name = line + 2;
  while (*name == ' ' || *name == '\t') name++;
  name[std::strcspn(name, " \t\r\n")] = 0;
  return *name && depth < kMostScripts ? loader_at(name, depth + 1) : Loader::Glibc;
}

Loader loader_in(int fd, int depth) {
  union {
    Elf64_Ehdr elf;
    char text[256];
  } head = {};
  if (pread(fd, head.text, sizeof head.text - 1, 0) < static_cast<ssize_t>(sizeof head.elf)) {
    if (std::strncmp(head.text, "#!", 2)) return Loader::Glibc;
  }
  if (!std::memcmp(head.elf.e_ident, ELFMAG, SELFMAG)) return loader_of_elf(fd, head.elf);
  return std::strncmp(head.text, "#!", 2) ? Loader::Glibc : loader_of_script(head.text, depth);
}

Loader loader_at(const char* path, int depth) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return Loader::Glibc;
  const Loader loader = loader_in(fd, depth);
  close(fd);
  return loader;
}

}  // namespace

Loader loader_of(const char* path) { return loader_at(path, 0); }
Loader loader_of_descriptor(int fd) { return loader_in(fd, 0); }

const char* find_in_path(const char* file, char* room, unsigned long capacity) {
  if (std::strchr(file, '/')) return file;
  const char* folders = getenv("PATH");  // on the program's own thread, where execvp asks for it as well
  if (!folders) folders = "/bin:/usr/bin";
  for (const char* at = folders;;) {
    const char* end = at + std::strcspn(at, ":");
    const auto length = static_cast<size_t>(end - at);
    if (length + std::strlen(file) + 2 <= capacity) {
      std::memcpy(room, at, length);
      char* name = room + length;
      if (length) *name++ = '/';
      std::strcpy(name, file);
      if (access(room, X_OK) == 0) return room;
    }
    if (!*end) return nullptr;
    at = end + 1;
  }
}

}  // namespace sonde
