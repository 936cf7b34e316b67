// Everything that is not recorded has a counter here; the background thread writes
// changed ones as Loss records. Counting is async-signal-safe, adding a new cause is one line.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sonde {

enum class Loss : uint8_t {
  RingFull,             // samples: the background thread did not keep up
  ReentrantSample,      // samples: a tick arrived inside the handler
  ThreadsOverLimit,     // threads: more threads at once than the table holds
  ThreadsNotArmed,      // threads: no engine could be armed
  ThreadsUnknown,       // threads: not started through pthread_create, not sampled
  PerfScarce,           // threads: timer used because descriptors are scarce
  KernelStacksOff,      // threads: kernel time is sampled, but not where in the kernel
  FaultGuardLost,       // events: the program replaced SIGSEGV or SIGBUS behind our back
  SignalLost,           // events: the program replaced SIGPROF behind our back
  RecordsTooLarge,      // events; what fails to be written is counted in the log's preamble
  NodeEpochs,           // events: stack tables were reset to stay within memory
  NoMemory,             // events
  PythonUnknown,        // events: interpreter of an unknown version, no Python frames
  PythonWalkFailed,     // samples
  PythonTruncated,      // samples
  ChildNotFollowed,     // processes
  CodeTableFull,        // events: Python code objects without a name
  JitNamesLost,         // events
  PoolRegionsNested,    // events
  WaitChanged,          // events: a blocked thread moved while its stack was read
  SwitchRecordsLost,    // events: the kernel dropped context switch records
  SmallSignalStack,     // samples: no room for the handler on a stack that the program gave the kernel
  ThreadsSignalTaken,   // threads: the program takes a blocked SIGPROF itself
  ThreadsConfined,      // threads: started behind a filter of system calls
  PoolNotFound,         // events: a parallel region ran on one thread because its runtime was not found
  EventNotWritten,      // events: steps, phases or regions of a native program that found no room
  kCount
};

struct LossName {
  const char* cause;
  const char* unit;
  const char* detail;
};
extern const LossName kLossNames[static_cast<size_t>(Loss::kCount)];

namespace detail {
extern std::atomic<uint64_t> loss_counts[static_cast<size_t>(Loss::kCount)];
}

// Async-signal-safe.
inline void count_loss(Loss cause, uint64_t count = 1) {
  detail::loss_counts[static_cast<size_t>(cause)].fetch_add(count, std::memory_order_relaxed);
}

}  // namespace sonde
