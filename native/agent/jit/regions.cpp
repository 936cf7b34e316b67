#include "jit/regions.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

namespace sonde {
namespace {

// One place per page, hashed: a lost note is made again by the next sample there.
constexpr unsigned kNotes = 128;
constexpr uint64_t kPageBytes = 4096;
std::atomic<uint64_t> g_notes[kNotes];

struct MapLine {
  uint64_t low = 0, high = 0;
  bool generated = false;
};

// «low-high perms offset device inode   path»: executable and not backed by a library's file.
MapLine parse_line(const char* line) {
  MapLine out;
  unsigned long low, high, inode;
  char permissions[8];
  int path_at = 0;
  if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %n", &low, &high, permissions, &inode, &path_at) < 4) return out;
  const char* path = line + path_at;
  out.low = low;
  out.high = high;
  // A JIT's memory may be a memfd or an unlinked file mapped twice (once writable, once executable).
  const bool no_file = inode == 0 || strstr(path, " (deleted)") || strncmp(path, "/memfd:", 7) == 0;
  out.generated = permissions[2] == 'x' && no_file && path[0] != '[';
  return out;
}

}  // namespace

void note_generated_code(uint64_t pc) {
  const uint64_t page = pc & ~(kPageBytes - 1);
  std::atomic<uint64_t>& place = g_notes[page / kPageBytes % kNotes];
  // Most notes repeat: reading first keeps the line shared between threads.
  if (place.load(std::memory_order_relaxed) != page) place.store(page, std::memory_order_relaxed);
}

bool CodeRegions::is_known(uint64_t pc) const {
  for (size_t i = 0; i < known_.size(); ++i) {
    if (pc >= known_[i].low && pc < known_[i].high) return true;
  }
  return false;
}

void CodeRegions::write(uint64_t low, uint64_t high, const char* what, log::Writer& log) {
  known_.push({low, high});
  char name[96];
  snprintf(name, sizeof name, "%s %#lx-%#lx", what, static_cast<unsigned long>(low), static_cast<unsigned long>(high));
  log.begin(log::Record::JitCode).number(last_look_ns_).number(low).number(high - low).text(name).text("region");
  log.end();
}

void CodeRegions::read_mappings(uint64_t now_ns, log::Writer& log) {
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char buffer[8192];
  size_t kept = 0;
  ssize_t bytes;
  while ((bytes = read(fd, buffer + kept, sizeof buffer - 1 - kept)) > 0) {
    const size_t filled = kept + static_cast<size_t>(bytes);
    buffer[filled] = 0;
    char* line = buffer;
    while (char* end = static_cast<char*>(memchr(line, '\n', static_cast<size_t>(buffer + filled - line)))) {
      *end = 0;
      const MapLine one = parse_line(line);
      if (one.generated && !(is_known(one.low) && is_known(one.high - 1))) {
        write(one.low, one.high, "generated code", log);
      }
      line = end + 1;
    }
    kept = static_cast<size_t>(buffer + filled - line);
    if (kept >= sizeof buffer - 1) kept = 0;  // no such line exists
    memmove(buffer, line, kept);
  }
  close(fd);
  last_look_ns_ = now_ns;
}

bool CodeRegions::poll(uint64_t now_ns, log::Writer& log) {
  bool looked = false;
  for (std::atomic<uint64_t>& place : g_notes) {
    // Reading first: the lines stay with the threads that walk.
    if (place.load(std::memory_order_relaxed) == 0) continue;
    const uint64_t page = place.exchange(0, std::memory_order_relaxed);
    if (page == 0 || is_known(page)) continue;
    if (!looked) read_mappings(now_ns, log);
    looked = true;
    // Unmapped between the sample and now: its page is all that can be said.
    if (!is_known(page)) write(page, page + kPageBytes, "generated code, gone", log);
  }
  return looked;
}

}  // namespace sonde
