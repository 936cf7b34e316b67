#include "steps/event_log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/system.h"
#include "core/agent.h"
#include "log/loss.h"
#include "process/confined.h"

namespace sonde {
namespace {

constexpr uint64_t kChunkBytes = 64 * 1024;
constexpr uint64_t kBlockBytes = 4096;
constexpr uint64_t kRecordsPerBlock = kBlockBytes / sizeof(EventRecord);

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
unsigned char* g_chunk = nullptr;  // stays mapped for good: a thread may hold a block of it
uint64_t g_used = kChunkBytes;
uint64_t g_file_bytes = 0;
unsigned g_generation = 1;  // another one in each forked child: blocks of the parent are not ours to write

struct Block {
  EventRecord* next = nullptr;
  EventRecord* end = nullptr;
  unsigned generation = 0;
};
thread_local Block t_block __attribute__((tls_model("initial-exec")));

uint64_t g_parts[kRingParts] = {};  // of a ring: numbers of the files that are full, by the order of their ends
unsigned g_part_count = 0;

// The file is full: it becomes FILE.NUMBER, the oldest such file is removed. Numbers are times, since a process keeps
// its files over an exec. Blocks of it that threads hold stay writable.
void turn_ring(const char* path) {
  const Options& asked = agent_options();
  if (!asked.ring_ns || g_file_bytes < asked.ring_bytes * kEventShareOf8 / 8 / (kRingParts + 1)) return;
  char name[512];
  const uint64_t number = mono_ns() / 1'000'000;
  snprintf(name, sizeof name, "%s.%llu", path, static_cast<unsigned long long>(number));
  if (rename(path, name) != 0) return;
  uint64_t* place = &g_parts[g_part_count++ % kRingParts];
  snprintf(name, sizeof name, "%s.%llu", path, static_cast<unsigned long long>(*place));
  if (*place) unlink(name);
  *place = number;
  g_file_bytes = 0;
}

bool fits_file_limit(uint64_t bytes) {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

bool grow() {
  if (is_confined() || !fits_file_limit(g_file_bytes + kChunkBytes)) return false;
  char path[480];
  snprintf(path, sizeof path, "%s/raw/%d.native.bin", agent_options().folder, agent_pid());
  turn_ring(path);
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd < 0) return false;
  void* mapped = MAP_FAILED;
  struct stat info = {};
  // What this process wrote before it replaced itself (exec keeps the number) stays.
  if (!g_file_bytes && fstat(fd, &info) == 0) {
    g_file_bytes = (static_cast<uint64_t>(info.st_size) + kChunkBytes - 1) / kChunkBytes * kChunkBytes;
  }
  const auto at = static_cast<off_t>(g_file_bytes);
  if (posix_fallocate(fd, at, static_cast<off_t>(kChunkBytes)) == 0) {
    mapped = mmap(nullptr, kChunkBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
  }
  close(fd);
  if (mapped == MAP_FAILED) return false;
  g_chunk = static_cast<unsigned char*>(mapped);
  g_file_bytes += kChunkBytes;
  g_used = 0;
  return true;
}

bool take_block(Block* block) {
  const int saved = errno;
  pthread_mutex_lock(&g_lock);
  const bool room = g_used < kChunkBytes || grow();
  if (room) {
    block->next = reinterpret_cast<EventRecord*>(g_chunk + g_used);
    block->end = block->next + kRecordsPerBlock;
    block->generation = g_generation;
    g_used += kBlockBytes;
  }
  pthread_mutex_unlock(&g_lock);
  errno = saved;
  if (!room) return false;
  *block->next++ = {thread_id(), 0, 0, 0, 0};
  return true;
}

}  // namespace

EventRecord* write_event(Event code, uint64_t start_ns, uint64_t end_ns, int64_t a) {
  if (!agent_sampling() || process_id() != agent_pid()) return nullptr;  // the latter: a vfork child
  Block& block = t_block;
  if ((block.next == block.end || block.generation != g_generation) && !take_block(&block)) {
    count_loss(Loss::EventNotWritten);
    return nullptr;
  }
  EventRecord* record = block.next++;
  record->start_ns = static_cast<int64_t>(start_ns);
  record->end_ns = static_cast<int64_t>(end_ns);
  record->a = a;
  record->b = 1;
  __atomic_store_n(&record->code, static_cast<int64_t>(code), __ATOMIC_RELEASE);  // last: a torn record is no record
  return record;
}

void events_after_fork() {
  pthread_mutex_init(&g_lock, nullptr);
  g_chunk = nullptr;
  g_used = kChunkBytes;
  g_file_bytes = 0;
  g_part_count = 0;
  for (uint64_t& part : g_parts) part = 0;
  g_generation++;
}

}  // namespace sonde
