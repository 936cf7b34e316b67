#include "background/mappings.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

#include "common/maps.h"
#include "common/regular_file.h"

namespace sonde {
namespace {

// The loader tells of libraries; what else maps code from files is rare, and a look costs 2 ms in a program with torch.
constexpr uint64_t kScanAnywayNs = 60'000'000'000, kScanAtEndNs = 5'000'000'000;

uint64_t mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x100000001b3u; }

uint64_t hash_text(const char* text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text; text++) hash = mix(hash, static_cast<uint8_t>(*text));
  return hash;
}

}  // namespace

void read_build_id(const char* path, char* hex, size_t capacity) {
  hex[0] = 0;
  // The name may mean another file by now.
  struct stat status;
  int fd = open_regular(path, FileOwner::Anyone, &status);
  if (fd < 0) return;
  Elf64_Ehdr file;
  Elf64_Phdr segment;
  uint8_t note[1024];
  bool elf = pread(fd, &file, sizeof file, 0) == sizeof file && !std::memcmp(file.e_ident, ELFMAG, SELFMAG) &&
             file.e_ident[EI_CLASS] == ELFCLASS64 && file.e_phentsize == sizeof segment;
  for (unsigned i = 0; elf && i < file.e_phnum && !hex[0]; i++) {
    off_t at = static_cast<off_t>(file.e_phoff + i * sizeof segment);
    if (pread(fd, &segment, sizeof segment, at) != sizeof segment || segment.p_type != PT_NOTE) continue;
    size_t wanted = segment.p_filesz < sizeof note ? segment.p_filesz : sizeof note;
    ssize_t n = pread(fd, note, wanted, static_cast<off_t>(segment.p_offset));
    for (size_t pos = 0; n > 0 && pos + 12 <= static_cast<size_t>(n);) {
      uint32_t head[3];
      std::memcpy(head, note + pos, sizeof head);
      size_t name = pos + 12, data = name + ((head[0] + 3u) & ~3u), next = data + ((head[1] + 3u) & ~3u);
      if (next > static_cast<size_t>(n) || next <= pos) break;
      if (head[2] == NT_GNU_BUILD_ID && head[0] == 4 && !std::memcmp(note + name, "GNU", 4)) {
        for (size_t k = 0; k < head[1] && 2 * k + 2 < capacity; k++) snprintf(hex + 2 * k, 3, "%02x", note[data + k]);
        break;
      }
      pos = next;
    }
  }
  close(fd);
}

bool Mappings::update(log::Writer& log, uint64_t now_ns, Look look) {
  const LoaderCounts counts = loader_counts();
  bool changed = counts != last_counts_;
  const uint64_t age_ns = now_ns - last_scan_ns_;
  if (look == Look::First || changed || age_ns > (look == Look::Last ? kScanAtEndNs : kScanAnywayNs)) {
    // What is new may have been there, and what is gone may have been gone, since the last look that could tell.
    const uint64_t since_ns = changed ? last_update_ns_ : last_scan_ns_;
    scan(log, since_ns ? since_ns : now_ns);
    last_counts_ = counts;
    last_scan_ns_ = now_ns;
  }
  last_update_ns_ = now_ns;
  return changed;
}

void Mappings::reset() {
  known_.clear();
  last_counts_ = {};
  last_scan_ns_ = last_update_ns_ = 0;
}

void Mappings::scan(log::Writer& log, uint64_t since) {
  MapsReader maps;
  if (!maps.is_open()) return;
  for (Entry& entry : known_) entry.seen = false;
  size_t old_count = known_.size();
  for (int round = 0; round < 2; round++) {  // first note what is still there, then write what is new
    if (round == 1) {
      size_t kept = 0;
      for (size_t i = 0; i < old_count; i++) {
        if (known_[i].seen) {
          known_[kept++] = known_[i];
        } else {
          log.begin(log::Record::Unmapping).number(since).number(known_[i].start).number(known_[i].end);
          log.end();
        }
      }
      known_.resize_down(kept);
      old_count = kept;
    }
    maps.rewind();
    for (MapsLine line; maps.next(&line);) {
      if (!line.executable || (line.path[0] != '/' && std::strcmp(line.path, "[vdso]"))) continue;
      const Entry entry = {line.low, line.high, line.offset, line.inode, hash_text(line.path), true};
      Entry* found = nullptr;
      for (size_t i = 0; i < old_count && !found; i++) {
        Entry& old = known_[i];
        if (old.start == entry.start && old.end == entry.end && old.inode == entry.inode &&
            old.offset == entry.offset && old.path_hash == entry.path_hash) {
          found = &old;
        }
      }
      if (found) {
        found->seen = true;
      } else if (round == 1) {
        char build_id[80];
        read_build_id(line.path, build_id, sizeof build_id);
        log.begin(log::Record::Mapping).number(since).number(line.low).number(line.high).number(line.offset);
        log.text(line.path).text(build_id);
        log.end();
        known_.push(entry);
      }
    }
  }
}

}  // namespace sonde
