#include "common/maps.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace sonde {
namespace {

constexpr size_t kCapacity = 16u << 20;  // 65,530 mappings with long paths; pages are used as the text fills them

uint64_t number(const char** at, unsigned base) {
  uint64_t value = 0;
  for (;; ++*at) {
    const char c = **at;
    unsigned digit;
    if (c >= '0' && c <= '9') digit = static_cast<unsigned>(c - '0');
    else if (base == 16 && c >= 'a' && c <= 'f') digit = static_cast<unsigned>(c - 'a' + 10);
    else return value;
    value = value * base + digit;
  }
}

// Steps over the character; false when it is another.
bool is_next(const char** at, char c) {
  if (**at != c) return false;
  ++*at;
  return true;
}

// "LOW-HIGH rwxp OFFSET DEVICE INODE      PATH"
bool parse(const char* text, MapsLine* line) {
  *line = MapsLine{};
  line->low = number(&text, 16);
  if (!is_next(&text, '-')) return false;
  line->high = number(&text, 16);
  if (!is_next(&text, ' ') || strnlen(text, 5) < 5) return false;
  line->readable = text[0] == 'r';
  line->writable = text[1] == 'w';
  line->executable = text[2] == 'x';
  text += 4;
  if (!is_next(&text, ' ')) return false;
  line->offset = number(&text, 16);
  if (!is_next(&text, ' ')) return false;
  text = std::strchr(text, ' ');  // behind the device
  if (!text || !is_next(&text, ' ')) return false;
  line->inode = number(&text, 10);
  while (is_next(&text, ' ')) {}
  line->path = text;
  return line->low < line->high;
}

}  // namespace

MapsReader::MapsReader(const char* file) {
  const int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void* memory = mmap(nullptr, kCapacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) {
    text_ = at_ = end_ = static_cast<char*>(memory);
    ssize_t bytes;
    while (end_ < text_ + kCapacity - 1 && (bytes = read(fd, end_, static_cast<size_t>(text_ + kCapacity - 1 - end_))) > 0) {
      end_ += bytes;
    }
    for (char* c = text_; (c = static_cast<char*>(std::memchr(c, '\n', static_cast<size_t>(end_ - c)))); c++) *c = 0;
  }
  close(fd);
}

MapsReader::~MapsReader() {
  if (text_) munmap(text_, kCapacity);
}

bool MapsReader::next(MapsLine* line) {
  while (at_ < end_) {
    const char* text = at_;
    at_ += std::strlen(at_) + 1;
    if (parse(text, line)) return true;
  }
  return false;
}

}  // namespace sonde
