// What sonde/ingest/agent/decode.py calls by ctypes. A handle owns its columns until it is freed.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>

#include "rawlog/decode.h"

using sonde::rawlog::Columns;

#define SONDE_API extern "C" __attribute__((visibility("default")))

// Null and *error = errno when the file cannot be read.
SONDE_API Columns* sonde_rawlog_read(const char* path, int* error) {
  *error = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info = {};
  if (fd < 0 || fstat(fd, &info) != 0) {
    *error = errno;
    if (fd >= 0) close(fd);
    return nullptr;
  }
  if (!S_ISREG(info.st_mode)) {
    *error = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    close(fd);
    return nullptr;
  }
  auto* columns = new (std::nothrow) Columns;
  size_t size = static_cast<size_t>(info.st_size);
  void* data = size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  if (!columns || data == MAP_FAILED) {
    *error = columns ? errno : ENOMEM;
    delete columns;
    close(fd);
    return nullptr;
  }
  columns->decode(static_cast<const uint8_t*>(data), size);
  if (size) munmap(data, size);
  close(fd);
  return columns;
}

// A log that is followed while it grows: empty at first. Null when there is no memory.
SONDE_API Columns* sonde_rawlog_follow() { return new (std::nothrow) Columns; }

// Decodes what `fd` has gained since the last call, at most `limit` bytes of it; bytes decoded, or -errno.
SONDE_API int64_t sonde_rawlog_more(Columns* log, int fd, int64_t limit) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return -errno;
  const size_t from = log->position();
  if (static_cast<uint64_t>(info.st_size) <= from) return 0;
  const auto size = std::min(static_cast<size_t>(info.st_size) - from, static_cast<size_t>(limit));
  std::unique_ptr<uint8_t[]> data(new (std::nothrow) uint8_t[size]);
  if (!data) return -ENOMEM;
  const ssize_t got = pread(fd, data.get(), size, static_cast<off_t>(from));
  if (got < 0) return -errno;
  log->decode_more(data.get(), static_cast<size_t>(got));
  return static_cast<int64_t>(log->position() - from);
}

SONDE_API void sonde_rawlog_next_file(Columns* log) { log->next_file(); }

SONDE_API void sonde_rawlog_forget_events(Columns* log) { log->forget_events(); }

SONDE_API void sonde_rawlog_free(Columns* log) { delete log; }

SONDE_API int64_t sonde_rawlog_rows(const Columns* log, int64_t type) {
  return static_cast<int64_t>(log->column(static_cast<size_t>(type), 0).size());
}

SONDE_API const int64_t* sonde_rawlog_column(const Columns* log, int64_t type, int64_t field) {
  return log->column(static_cast<size_t>(type), static_cast<size_t>(field)).data();
}

SONDE_API const char* sonde_rawlog_fields(int64_t type) {
  return sonde::rawlog::kFields[static_cast<size_t>(type)];
}

SONDE_API int64_t sonde_rawlog_strings(const Columns* log) {
  return static_cast<int64_t>(log->strings().size());
}

SONDE_API const char* sonde_rawlog_string(const Columns* log, int64_t number, int64_t* size) {
  const auto& text = log->strings()[static_cast<size_t>(number)];
  *size = static_cast<int64_t>(text.size());
  return text.data();
}

SONDE_API void sonde_rawlog_summary(const Columns* log, int64_t out[12]) {
  const auto& s = log->summary();
  const auto lost = [](uint64_t count) {  // a file may say anything
    return static_cast<int64_t>(count < INT64_MAX ? count : INT64_MAX);
  };
  const int64_t values[] = {s.bytes_total,
                            s.bytes_lost,
                            s.chunks,
                            s.records_malformed,
                            s.records_unknown,
                            s.references_unknown,
                            s.stop,
                            lost(s.lost.chunks),
                            lost(s.lost.samples),
                            lost(s.lost.cpu_ns),
                            lost(s.lost.waits),
                            lost(s.lost.others)};
  for (size_t i = 0; i < 12; i++) out[i] = values[i];
}
