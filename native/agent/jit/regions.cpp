#include "jit/regions.h"

#include <atomic>
#include <cstdio>
#include <cstring>

#include "common/maps.h"
#include "common/page.h"

namespace sonde {
namespace {

// One place per page, hashed: a lost note is made again by the next sample there.
constexpr unsigned kNotes = 128;
std::atomic<uint64_t> g_notes[kNotes];

// Executable and not backed by a library's file. A JIT's memory may be a memfd or an unlinked file mapped twice (once
// writable, once executable).
bool is_generated(const MapsLine& line) {
  const bool no_file = line.inode == 0 || strstr(line.path, " (deleted)") || strncmp(line.path, "/memfd:", 7) == 0;
  return line.executable && no_file && line.path[0] != '[';
}

}  // namespace

void note_generated_code(uint64_t pc) {
  const uint64_t page = pc & ~(page_bytes() - 1);
  std::atomic<uint64_t>& place = g_notes[page / page_bytes() % kNotes];
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
  MapsReader maps;
  if (!maps.is_open()) return;
  for (MapsLine line; maps.next(&line);) {
    if (is_generated(line) && !(is_known(line.low) && is_known(line.high - 1))) {
      write(line.low, line.high, "generated code", log);
    }
  }
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
    if (!is_known(page)) write(page, page + page_bytes(), "generated code, gone", log);
  }
  return looked;
}

}  // namespace sonde
