#include "process/ended.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "common/clock.h"
#include "common/system.h"
#include "process/append.h"
#include "process/confined.h"

namespace sonde {
namespace {

constinit int own_pid = 0;  // 0: the agent was not asked for
constinit uint64_t start_ns = 0;
constinit bool ended = false;

void forked() {
  own_pid = process_id();
  start_ns = mono_ns();
  ended = false;
}

unsigned long long nanoseconds(const timeval& time) {
  return static_cast<unsigned long long>(time.tv_sec) * 1'000'000'000u +
         static_cast<unsigned long long>(time.tv_usec) * 1000u;
}

}  // namespace

void begin_account() {
  free(malloc(1));  // a replaced malloc registers its fork handlers first, see core/agent.cpp
  forked();
  pthread_atfork(nullptr, nullptr, forked);
}

void note_end(const char* how) {
  if (!own_pid || is_confined() || process_id() != own_pid) return;
  const bool last = !std::strcmp(how, "exit");
  if (last && ended) return;  // exit() after the destructors, quick_exit after _exit
  ended = last;
  const int saved = errno;
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  char program[256], line[512];
  ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
  program[size > 0 ? size : 0] = 0;
  for (char* c = program; *c; c++) {
    if (*c == '\t' || *c == '\n') *c = '?';
  }
  int length = snprintf(line, sizeof line, "%d\t%d\t%llu\t%llu\t%llu\t%llu\t%llu\t%s\t%s\n", own_pid,
                        static_cast<int>(syscall(SYS_getppid)), static_cast<unsigned long long>(start_ns),
                        static_cast<unsigned long long>(mono_ns()), nanoseconds(usage.ru_utime),
                        nanoseconds(usage.ru_stime), static_cast<unsigned long long>(usage.ru_maxrss) * 1024u, how,
                        program);
  append_to_raw("ended.tsv", line, length);
  errno = saved;
}

}  // namespace sonde
