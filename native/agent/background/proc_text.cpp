#include "background/proc_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

namespace sonde {

size_t read_file(const char* path, char* out, size_t capacity) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  size_t used = 0;
  ssize_t n;
  while (used < capacity && (n = read(fd, out + used, capacity - used)) > 0) used += static_cast<size_t>(n);
  close(fd);
  return used;
}

void read_thread_name(int tid, char name[16]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", tid);
  size_t size = read_file(path, name, 15);
  while (size && (name[size - 1] == '\n')) size--;
  name[size] = 0;
}

uint64_t read_boot_id() {
  char text[64] = {};
  read_file("/proc/sys/kernel/random/boot_id", text, sizeof text - 1);
  char digits[14] = {};
  size_t used = 0;
  for (const char* at = text; *at && used < 13; at++) {
    if (*at != '-') digits[used++] = *at;
  }
  return strtoull(digits, nullptr, 16);
}

}  // namespace sonde
