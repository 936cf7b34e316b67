#include "thread_block.h"

#include <elf.h>
#include <stdio.h>

#include <cstring>
#include <vector>

namespace sonde::attach {
namespace {

constexpr uint64_t kUsualNumberOffset = 0x2d0;  // of every glibc for x86-64 since 2.10
constexpr unsigned kMostLibraries = 1000, kMostSegments = 64;
constexpr uint64_t kUnallocated = ~uint64_t{0};

struct Head {  // tcbhead_t of glibc
  uint64_t self, dtv, descriptor;
  int32_t multiple_threads, global_scope;
  uint64_t sysinfo, canary, guard;
};

struct LinkMap {  // the public part
  uint64_t base, name, dynamic, next;
};

// Of the program itself: its link map says nothing about where its headers lie.
bool program_segments(const Memory& memory, int pid, std::vector<Elf64_Phdr>* segments, uint64_t* base) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/auxv", pid);
  FILE* file = fopen(path, "rbe");
  if (!file) return false;
  uint64_t entry[2], at = 0, count = 0;
  while (fread(entry, sizeof entry, 1, file) == 1) {
    if (entry[0] == 3) at = entry[1];     // AT_PHDR
    if (entry[0] == 5) count = entry[1];  // AT_PHNUM
  }
  fclose(file);
  if (!at || count > kMostSegments) return false;
  segments->resize(count);
  if (!memory.read(at, segments->data(), count * sizeof(Elf64_Phdr))) return false;
  *base = 0;
  for (const Elf64_Phdr& one : *segments) {
    if (one.p_type == PT_PHDR) *base = at - one.p_vaddr;
  }
  return true;
}

bool library_segments(const Memory& memory, uint64_t base, std::vector<Elf64_Phdr>* segments) {
  Elf64_Ehdr file;
  segments->clear();
  if (!base || !memory.read(base, &file, sizeof file) || std::memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 ||
      file.e_phentsize != sizeof(Elf64_Phdr) || file.e_phnum > kMostSegments) {
    return false;
  }
  segments->resize(file.e_phnum);
  return memory.read(base + file.e_phoff, segments->data(), file.e_phnum * sizeof(Elf64_Phdr));
}

// glibc numbers the libraries with thread-local variables that are there at the start 1, 2, 3 … in the order of the
// link map. Where each has its variables, the table of a thread that exists tells. The first that has them elsewhere
// than below the thread pointer was loaded later: it and all that follow are none of libc's and malloc's.
bool write_images(const Memory& memory, int pid, uint64_t block, uint64_t thread, uint64_t dtv, uint64_t loader_list) {
  uint64_t map = 0, slots = 0;
  if (!memory.read(loader_list + 8, &map, sizeof map) || !memory.read(dtv - 16, &slots, sizeof slots)) return false;
  std::vector<Elf64_Phdr> segments;
  std::vector<uint8_t> image;
  uint64_t number = 0;
  for (unsigned i = 0; map && i < kMostLibraries; i++) {
    LinkMap library;
    if (!memory.read(map, &library, sizeof library)) return false;
    map = library.next;
    uint64_t base = library.base;
    if (!(i == 0 ? program_segments(memory, pid, &segments, &base) : library_segments(memory, base, &segments))) continue;
    for (const Elf64_Phdr& one : segments) {
      if (one.p_type != PT_TLS || !one.p_memsz) continue;
      uint64_t entry[2] = {kUnallocated, 0};
      if (++number > slots || !memory.read(dtv + 16 * number, entry, sizeof entry)) return true;
      const uint64_t offset = thread - entry[0];
      if (entry[0] == kUnallocated || offset < one.p_memsz || offset > kVariablesBytes - 4096) return true;
      image.resize(one.p_filesz);
      if (image.empty()) continue;
      if (!memory.read(base + one.p_vaddr, image.data(), image.size())) return false;
      if (!memory.write(block - offset, image.data(), image.size())) return false;
    }
  }
  return true;
}

}  // namespace

uint64_t number_offset(const Memory& memory, uint64_t thread, int tid) {
  int32_t words[256];
  if (!memory.read(thread, words, sizeof words)) return 0;
  if (words[kUsualNumberOffset / 4] == tid) return kUsualNumberOffset;
  uint64_t found = 0;
  for (unsigned i = sizeof(Head) / 4; i < 256; i++) {
    if (words[i] != tid) continue;
    if (found) return 0;  // twice: a wrong guess would break the locks of libc
    found = i * 4;
  }
  return found;
}

bool write_thread_block(const Memory& memory, int pid, uint64_t block, uint64_t thread, uint64_t loader_list) {
  Head theirs;
  if (!memory.read(thread, &theirs, sizeof theirs) || theirs.self != thread || theirs.descriptor != thread) return false;
  Head head = {};
  head.self = head.descriptor = block;
  head.dtv = block + 8192 + 16;
  head.multiple_threads = 1;
  head.canary = theirs.canary;
  head.guard = theirs.guard;
  return memory.write(block, &head, sizeof head) &&
         write_images(memory, pid, block, thread, theirs.dtv, loader_list);
}

}  // namespace sonde::attach
