#include "memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <unordered_map>

#include "common/guarded_memory.h"
#include "libraries.h"

namespace sonde::dump {
namespace {

constexpr uint64_t kPieceBytes = 4096;  // the unit of the cache

using Piece = std::unique_ptr<uint8_t[]>;  // null: cannot be read
using Pieces = std::unordered_map<uint64_t, Piece>;

int file = -1;
Pieces fixed, changing;

const uint8_t* piece_at(uint64_t start) {
  Pieces& pieces = is_fixed(start) ? fixed : changing;
  const auto known = pieces.find(start);
  if (known != pieces.end()) return known->second.get();
  Piece bytes(new uint8_t[kPieceBytes]);
  if (pread(file, bytes.get(), kPieceBytes, static_cast<off_t>(start)) != static_cast<ssize_t>(kPieceBytes)) bytes.reset();
  return (pieces[start] = std::move(bytes)).get();
}

}  // namespace

bool open_memory(int pid) {
  close_memory();
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", pid);
  file = open(path, O_RDONLY | O_CLOEXEC);
  return file >= 0;
}

void close_memory() {
  if (file >= 0) close(file);
  file = -1;
  fixed.clear();
  changing.clear();
}

bool read_memory(uint64_t address, void* to, size_t bytes) {
  auto* out = static_cast<uint8_t*>(to);
  while (bytes > 0) {
    const uint64_t within = address % kPieceBytes;
    const uint8_t* piece = piece_at(address - within);
    if (!piece) return false;
    const size_t part = bytes < kPieceBytes - within ? bytes : kPieceBytes - within;
    std::memcpy(out, piece + within, part);
    out += part;
    address += part;
    bytes -= part;
  }
  return true;
}

void keep_memory(uint64_t address, uint64_t bytes) {
  for (uint64_t at = address - address % kPieceBytes; at < address + bytes; at += kPieceBytes) {
    if (!piece_at(at)) return;
  }
}

void forget_changing_memory() { changing.clear(); }

}  // namespace sonde::dump

namespace sonde {

size_t guarded_copy(void* to, uint64_t from, size_t bytes) {
  auto* out = static_cast<uint8_t*>(to);
  size_t done = 0;
  if (is_user_address(from, bytes) && dump::read_memory(from, to, bytes)) return bytes;
  while (done < bytes && is_user_address(from + done, 1) && dump::read_memory(from + done, out + done, 1)) ++done;
  return done;
}

}  // namespace sonde
