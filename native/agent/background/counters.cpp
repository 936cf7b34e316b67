#include "background/counters.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "python/frames.h"

namespace sonde {
namespace {

uint64_t rss_bytes() {
  int fd = open("/proc/thread-self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[128] = {};
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  unsigned long total = 0, resident = 0;
  if (n <= 0 || sscanf(text, "%lu %lu", &total, &resident) != 2) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t nanoseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_usec) * 1000u;
}

}  // namespace

void CounterWriter::write(log::Writer& log, uint64_t now_ns) {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const uint64_t readings[kReadings] = {
      rss_bytes(),
      nanoseconds(usage.ru_utime),
      nanoseconds(usage.ru_stime),
      static_cast<uint64_t>(usage.ru_minflt),
      static_cast<uint64_t>(usage.ru_majflt),
      static_cast<uint64_t>(usage.ru_nvcsw),
      static_cast<uint64_t>(usage.ru_nivcsw),
  };
  log.begin(log::Record::Readings).time_delta(now_ns);
  for (size_t i = 0; i < kReadings; i++) {
    log.signed_number(static_cast<int64_t>(readings[i] - written_[i]));
    written_[i] = readings[i];
  }
  log.end();
}

void CounterWriter::reset() {
  for (uint64_t& value : written_) value = 0;
}

void LossWriter::write(log::Writer& log) {
  uint64_t counts[static_cast<size_t>(Loss::kCount)];
  bool news = false;
  for (size_t i = 0; i < static_cast<size_t>(Loss::kCount); i++) {
    counts[i] = detail::loss_counts[i].load(std::memory_order_relaxed);
    news |= counts[i] != told_[i];
  }
  if (!news || !log.flush()) return;
  for (size_t i = 0; i < static_cast<size_t>(Loss::kCount); i++) {
    if (counts[i] == told_[i]) continue;
    const LossName& name = kLossNames[i];
    const char* said = i == static_cast<size_t>(Loss::PythonUnknown) ? python_refusal() : nullptr;
    log.begin(log::Record::Loss).text(name.cause).text(name.unit).number(counts[i] - told_[i]);
    log.text(said ? said : name.detail);
    log.end();
  }
  if (!log.flush()) return;
  for (size_t i = 0; i < static_cast<size_t>(Loss::kCount); i++) told_[i] = counts[i];
}

uint64_t LossWriter::untold() const {
  uint64_t total = 0;
  for (size_t i = 0; i < static_cast<size_t>(Loss::kCount); i++) {
    total += detail::loss_counts[i].load(std::memory_order_relaxed) - told_[i];
  }
  return total;
}

void LossWriter::forget_earlier() {
  for (size_t i = 0; i < static_cast<size_t>(Loss::kCount); i++) {
    told_[i] = detail::loss_counts[i].load(std::memory_order_relaxed);
  }
}

}  // namespace sonde
