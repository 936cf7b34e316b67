#include "steps/asked_from.h"

#include <stdio.h>

#include <atomic>
#include <cstring>

#include "core/agent.h"
#include "process/append.h"
#include "python/code_table.h"
#include "python/frames.h"
#include "python/interpreter.h"

namespace sonde {
namespace {

constexpr uint32_t kFrames = 32;          // a wrapper of torch's has less than ten
constexpr unsigned kMostPlaces = 512;     // a power of two
constexpr uint32_t kLongestTable = 32u << 10;

std::atomic<uint64_t> g_places[kMostPlaces];  // that are in the file
std::atomic<int> g_places_pid{0};
std::atomic<bool> g_busy{false};
char g_line[2 * kLongestTable + 4096];  // of who set `g_busy`

uint64_t hash_of(const PythonPlace* places, uint32_t count) {
  uint64_t hash = 14695981039346656037u;
  for (uint32_t i = 0; i < count; i++) {
    hash = (hash ^ places[i].code) * 1099511628211u;
    hash = (hash ^ static_cast<uint32_t>(places[i].instruction)) * 1099511628211u;
  }
  return hash >> 1 | 1;  // positive, and never 0
}

bool holds(const char* text, uint32_t size, const char* part) {
  return size && memmem(text, size, part, std::strlen(part)) != nullptr;
}

// As in sonde/analyze/samples/stack_index.py.
bool is_library(const python::CodeInfo& code) {
  for (const char* part : {"site-packages", "dist-packages", "/lib/python3", "/sonde/record/", "/sonde/insights/"}) {
    if (holds(code.file, code.file_size, part)) return true;
  }
  return code.file_size && code.file[0] == '<';
}

struct Line {
  int used = 0;

  void text(const char* from, uint32_t size) {
    g_line[used++] = '\t';
    for (uint32_t i = 0; i < size; i++) {  // one line each, whatever a name holds
      const char c = from[i];
      g_line[used++] = c == '\t' || c == '\n' || c == '\0' ? ' ' : c;
    }
  }
  void hex(const char* from, uint32_t size) {
    constexpr char kDigits[] = "0123456789abcdef";
    g_line[used++] = '\t';
    for (uint32_t i = 0; i < size; i++) {
      const auto byte = static_cast<unsigned char>(from[i]);
      g_line[used++] = kDigits[byte >> 4];
      g_line[used++] = kDigits[byte & 15];
    }
  }
};

// False: not now. A place without code of the user's gets a line without a frame.
bool write_place(uint64_t number, const PythonPlace* places, uint32_t count) {
  Line line;
  line.used = snprintf(g_line, sizeof g_line, "%llu\t%s", static_cast<unsigned long long>(number), python_version());
  for (uint32_t i = 0; i < count; i++) {
    PythonFrame frame = {};
    python::CodeInfo code = {};
    if (python_name_places(&places[i], 1, &frame, 1).count != 1) return false;
    if (!frame.code || !python::code_info(frame.code, &code)) return false;
    if (is_library(code)) continue;
    if (code.line_table_size > kLongestTable || code.file_size + code.name_size > 3072) break;
    line.text(code.file, code.file_size);
    line.text(code.name, code.name_size);
    line.used += snprintf(g_line + line.used, 32, "\t%d\t%d", code.first_line, places[i].instruction);
    line.hex(code.line_table, code.line_table_size);
    break;
  }
  g_line[line.used++] = '\n';
  char file[32];
  snprintf(file, sizeof file, "%d.places.tsv", agent_pid());
  append_to_raw(file, g_line, line.used);
  return true;
}

}  // namespace

int64_t asked_from() {
  if (!agent_sampling()) return 0;
  PythonPlace places[kFrames];
  bool truncated = false;
  const uint32_t count = python_places(python_thread_state(), places, kFrames, &truncated);
  if (count == 0) return 0;
  const uint64_t number = hash_of(places, count);
  if (g_places_pid.exchange(agent_pid(), std::memory_order_relaxed) != agent_pid()) {  // a forked child: its own file
    for (auto& slot : g_places) slot.store(0, std::memory_order_relaxed);
    g_busy.store(false, std::memory_order_relaxed);
  }
  for (unsigned i = 0; i < 16; i++) {
    std::atomic<uint64_t>& slot = g_places[(number + i) % kMostPlaces];
    const uint64_t seen = slot.load(std::memory_order_acquire);
    if (seen == number) return static_cast<int64_t>(number);
    if (seen != 0) continue;
    if (g_busy.exchange(true, std::memory_order_acquire)) return 0;  // another thread writes: next time
    const bool written = write_place(number, places, count);
    if (written) slot.store(number, std::memory_order_release);
    g_busy.store(false, std::memory_order_release);
    return written ? static_cast<int64_t>(number) : 0;
  }
  return 0;
}

}  // namespace sonde
