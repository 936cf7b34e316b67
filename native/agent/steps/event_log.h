// Steps and phases of a native program, in the format of sonde/record/inside/events.py.
//
// FOLDER/raw/PID.native.bin is a row of blocks; a block belongs to one thread, so that threads need no lock. Its pages are
// shared with the file: what was written survives `kill -9`, and an event may still grow where it lies. Chunks are
// allocated before they are mapped, and no descriptor stays open between them.
// Of a ring (log/format.h) the file is one of several, as the log is.
#pragma once

#include <cstdint>

namespace sonde {

// As in events.py. A user's step has its end alone; a region has the hash of its name in `a` (PID.names.tsv has the name).
enum class Event : int64_t {
  Optimizer = 1,
  ZeroGrad = 2,
  Backward = 3,
  LoaderStart = 5,
  Forward = 6,
  ForwardWithoutGrad = 7,
  UserStep = 10,
  Region = 11,
  CollectiveQueued = 12,  // steps/collectives.cpp
  CollectiveRan = 13,
  CollectiveWaited = 14,
  CollectiveMade = 15,
  CollectiveSize = 16,
  CollectiveFrom = 17,
};

struct EventRecord {
  int64_t code, start_ns, end_ns, a, b;
};

// The record, to be extended in place; null when there is no room or the process is not recorded.
// Not async-signal-safe: the first event of a block maps memory.
EventRecord* write_event(Event code, uint64_t start_ns, uint64_t end_ns, int64_t a);

void events_after_fork();

}  // namespace sonde
