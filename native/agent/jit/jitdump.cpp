#include "jit/jitdump.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "common/clock.h"
#include "common/regular_file.h"
#include "log/loss.h"

namespace sonde {
namespace {

constexpr uint32_t kMagic = 0x4a695444;  // "JiTD" in the writer's byte order
constexpr uint64_t kTimesAreTicks = 1;   // flag: times from the CPU's counter
constexpr uint32_t kCodeLoad = 0, kCodeMove = 1;
constexpr size_t kLongestName = 512;

struct Header {
  uint32_t magic, version, size, machine, padding, pid;
  uint64_t time, flags;
};
struct RecordHead {
  uint32_t id, size;
  uint64_t time;
};
struct CodeLoad {
  uint32_t pid, tid;
  uint64_t address, code_address, code_size, index;
};

template <typename T>
bool read_at(int fd, uint64_t at, T* out) {
  return pread(fd, out, sizeof(T), static_cast<off_t>(at)) == static_cast<ssize_t>(sizeof(T));
}

}  // namespace

bool Jitdump::find(const char* folder, int pid) {
  char parent[400];
  if (snprintf(parent, sizeof parent, "%s/.debug/jit", folder) >= static_cast<int>(sizeof parent)) return false;
  DIR* entries = opendir(parent);
  if (!entries) return false;
  while (const dirent* entry = readdir(entries)) {
    if (entry->d_name[0] == '.') continue;
    char path[sizeof path_];
    const int length = snprintf(path, sizeof path, "%s/%s/jit-%d.dump", parent, entry->d_name, pid);
    if (length > 0 && length < static_cast<int>(sizeof path) && access(path, R_OK) == 0) {
      memcpy(path_, path, sizeof path_);
      break;
    }
  }
  closedir(entries);
  return found();
}

bool Jitdump::read_header(int fd) {
  Header header;
  if (!read_at(fd, 0, &header) || header.magic != kMagic || header.size < sizeof header) return false;
  other_clock_ = header.flags & kTimesAreTicks;
  at_ = header.size;
  return true;
}

bool Jitdump::poll(log::Writer& log) {
  if (!found()) return false;
  struct stat status;
  // Most looks find nothing: one system call then, not three.
  if (at_ != 0 && stat(path_, &status) == 0 && static_cast<uint64_t>(status.st_size) <= at_) return false;
  const int fd = open_regular(path_, FileOwner::UsOrRoot, &status);
  if (fd < 0) return false;
  const uint64_t before = at_;
  if (at_ != 0 || read_header(fd)) {
    const auto end = static_cast<uint64_t>(status.st_size);
    RecordHead head;
    while (at_ + sizeof head <= end && read_at(fd, at_, &head)) {
      if (head.size < sizeof head) {  // damaged: what follows cannot be found
        count_loss(Loss::JitNamesLost);
        at_ = ~uint64_t{0} >> 1;
        break;
      }
      if (at_ + head.size > end) break;  // still being written
      if (head.id == kCodeLoad) write_code(fd, at_, head.size, head.time, log);
      if (head.id == kCodeMove) count_loss(Loss::JitNamesLost);
      at_ += head.size;
    }
  }
  close(fd);
  return at_ != before;
}

void Jitdump::write_code(int fd, uint64_t at, uint32_t size, uint64_t time_ns, log::Writer& log) {
  CodeLoad load;
  const uint64_t name_at = at + sizeof(RecordHead) + sizeof load;
  char name[kLongestName + 1] = {};
  if (size < sizeof(RecordHead) + sizeof load || !read_at(fd, at + sizeof(RecordHead), &load)) return;
  if (load.pid != own_pid_ && time_ns > forked_ns_) return;
  const uint64_t room = at + size - name_at;
  const ssize_t read = pread(fd, name, room < kLongestName ? room : kLongestName, static_cast<off_t>(name_at));
  if (read <= 0) return;
  log.begin(log::Record::JitCode)
      .number(other_clock_ ? mono_ns() : time_ns)
      .number(load.code_address)
      .number(load.code_size)
      .text(name)
      .text("jitdump");
  log.end();
}

}  // namespace sonde
