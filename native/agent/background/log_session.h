// Everything whose meaning ends with a stretch of the raw log: numbers of stacks, which threads, mappings, names and
// codes it knows, what it was told of losses. A session begins with a file (at the start, in the child of a fork, after
// an exec that failed, when a ring goes on in the next file) or behind a gap in one (a write that failed); both begin with nothing known.
// Background thread only; not async-signal-safe.
#pragma once

#include <cstdint>

#include "background/counters.h"
#include "background/mappings.h"
#include "background/stacks.h"
#include "log/writer.h"
#include "threads/thread.h"

namespace sonde {

class LogSession {
 public:
  constexpr LogSession() : stacks(&log) {}

  // A new file; false: it cannot be written now.
  bool open(const char* path);
  bool is_open() const { return log.is_open(); }

  // After a failed write: marks the gap in the same file. False: it still cannot be written. On true the
  // caller says everything again, as true since *from_ns.
  bool open_after_gap(uint64_t now_ns, uint64_t* from_ns);
  bool interrupted() const { return log.is_open() && log.broken(); }

  // Into the next file of a ring; on true the caller says everything again, as after a gap.
  bool turn(uint32_t part, uint64_t now_ns, uint64_t* from_ns);

  // True once per thread and session: the caller writes its ThreadStart.
  bool must_announce(Thread* thread);

  void write_losses();  // and flushes
  void close();
  void forget();        // in the child of a fork: the parent's file is not ours

  log::Writer log;
  StackWriter stacks;
  Mappings mappings;
  CounterWriter counters;

 private:
  void begin();

  LossWriter losses_;
  uint32_t number_ = 0;
};

}  // namespace sonde
