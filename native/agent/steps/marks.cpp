// What a program says itself, by sonde/include/sonde.h: steps and regions.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>

#include "common/clock.h"
#include "core/agent.h"
#include "log/loss.h"
#include "process/append.h"
#include "steps/event_log.h"

namespace sonde {
namespace {

constexpr unsigned kMostNames = 1024;     // a power of two
constexpr unsigned kLongestName = 256;
constexpr unsigned kDeepest = 64;

std::atomic<int64_t> g_names[kMostNames];  // hashes whose names are in the file
std::atomic<int> g_names_pid{0};

struct OpenRegions {
  unsigned depth = 0;
  uint64_t start_ns[kDeepest];
  int64_t name[kDeepest];
};

// A kilobyte for each thread that has regions, by a key: as a thread-local variable it would take most of the room that
// a program which is attached to has left for all of ours (native/tls_room.py).
pthread_once_t g_key_once = PTHREAD_ONCE_INIT;
pthread_key_t g_key;
bool g_key_made = false;

OpenRegions* open_regions() {
  pthread_once(&g_key_once, [] {
    g_key_made = pthread_key_create(&g_key, [](void* of) { munmap(of, sizeof(OpenRegions)); }) == 0;
  });
  if (!g_key_made) return nullptr;
  if (void* const known = pthread_getspecific(g_key)) return static_cast<OpenRegions*>(known);
  const int saved = errno;
  void* const made = mmap(nullptr, sizeof(OpenRegions), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  OpenRegions* open = made == MAP_FAILED ? nullptr : static_cast<OpenRegions*>(made);
  if (open && pthread_setspecific(g_key, open) != 0) {
    munmap(open, sizeof *open);
    open = nullptr;
  }
  errno = saved;
  return open;
}

int64_t hash_of(const char* name, size_t length) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (size_t i = 0; i < length; i++) hash = (hash ^ static_cast<unsigned char>(name[i])) * 1099511628211u;
  return static_cast<int64_t>(hash >> 1 | 1);  // positive, and never 0
}

void write_name(int64_t hash, const char* name, size_t length) {
  char file[32], line[kLongestName + 32];
  snprintf(file, sizeof file, "%d.names.tsv", agent_pid());
  int size = snprintf(line, sizeof line, "%lld\t", static_cast<long long>(hash));
  for (size_t i = 0; i < length; i++) {  // one line each, whatever the name holds
    const char c = name[i];
    line[size++] = c == '\n' || c == '\t' || c == '\0' ? ' ' : c;
  }
  line[size++] = '\n';
  append_to_raw(file, line, size);
}

// The name's hash; 0 when there are too many names.
int64_t known_name(const char* name) {
  const size_t length = strnlen(name, kLongestName);
  const int64_t hash = hash_of(name, length);
  if (g_names_pid.exchange(agent_pid(), std::memory_order_relaxed) != agent_pid()) {  // a forked child: its own file
    for (auto& slot : g_names) slot.store(0, std::memory_order_relaxed);
  }
  for (unsigned i = 0; i < kMostNames; i++) {
    std::atomic<int64_t>& slot = g_names[(static_cast<uint64_t>(hash) + i) % kMostNames];
    int64_t seen = slot.load(std::memory_order_relaxed);
    if (seen == hash) return hash;
    if (seen == 0) {
      if (slot.compare_exchange_strong(seen, hash)) write_name(hash, name, length);
      if (seen == 0 || seen == hash) return hash;
    }
  }
  return 0;
}

}  // namespace
}  // namespace sonde

#define SONDE_API extern "C" __attribute__((visibility("default")))

SONDE_API void sonde_agent_step() {
  const uint64_t now = sonde::mono_ns();
  sonde::write_event(sonde::Event::UserStep, now, now, 0);
}

SONDE_API void sonde_agent_region_begin(const char* name) {
  sonde::OpenRegions* const open = sonde::open_regions();
  if (!open || open->depth++ >= sonde::kDeepest) return;
  const bool recorded = name && sonde::agent_sampling();
  open->name[open->depth - 1] = recorded ? sonde::known_name(name) : 0;
  open->start_ns[open->depth - 1] = sonde::mono_ns();
}

SONDE_API void sonde_agent_region_end() {
  sonde::OpenRegions* const regions = sonde::open_regions();
  if (regions && regions->depth == 0) return;
  if (!regions || --regions->depth >= sonde::kDeepest || regions->name[regions->depth] == 0) {
    sonde::count_loss(sonde::Loss::EventNotWritten);
    return;
  }
  const unsigned at = regions->depth;
  sonde::write_event(sonde::Event::Region, regions->start_ns[at], sonde::mono_ns(), regions->name[at]);
}
