// One pass of the background thread: what the rings and the system tell goes into the log.
// Not async-signal-safe. Invariant: a thread is announced (ThreadStart) before its first sample.
#pragma once

#include <cstdint>

#include "background/blocks.h"
#include "background/counters.h"
#include "background/mappings.h"
#include "background/pace.h"
#include "background/stacks.h"
#include "engine/shared_rate.h"
#include "log/writer.h"
#include "threads/thread.h"
#include "waits/waits.h"

namespace sonde {

class Recorder {
 public:
  constexpr Recorder() : stacks_(&log_), waits_(&log_, &stacks_), blocks_(&log_, &stacks_) {}

  // `start_ns` names the log; nothing is written before open().
  void begin(log::ProcessOrigin origin, uint64_t start_ns);
  bool open();  // creates the log and writes what is known so far
  bool is_open() const { return log_.is_open(); }

  // What is due: `asked` or in time, a pass; in between at most the end of an overhead block.
  void tend(uint64_t now_ns, bool asked);
  uint64_t sleep_ns(uint64_t now_ns);  // until something is due
  void finish(log::EndReason reason, int agent_tid);
  void forget();  // in the child of a fork: the parent's log is not ours

 private:
  void pass(uint64_t now_ns);  // drain everything, refresh what is due, one chunk
  void write_header();
  void announce(Thread* thread);
  void drain(Thread* thread);
  void write_thread_end(Thread* thread, uint64_t end_ns, uint64_t cpu_ns);
  void look_for_unknown_threads();
  void write_rest(uint64_t now_ns);
  void refresh(uint64_t now_ns);
  void look_for_python(bool libraries_changed);
  void read_names();
  void write_statistics();

  log::Writer log_;
  StackWriter stacks_;
  WaitRecorder waits_;
  Blocks blocks_;
  Mappings mappings_;
  SharedRate rate_;
  CounterWriter counters_;
  LossWriter losses_;
  log::ProcessOrigin origin_ = log::ProcessOrigin::Started;
  uint64_t start_ns_ = 0;
  Pace pace_;
  uint64_t next_pass_ns_ = 0, next_refresh_ns_ = 0, next_counters_ns_ = 0, next_names_ns_ = 0;
  bool is_fork_ = false;  // CPU clocks began with this process
  bool python_known_ = false, python_looked_ = false;
  Histogram handler_times_, walk_times_;
  uint64_t blocks_cpu_ns_ = 0, cpu_at_sleep_ns_ = 0;
  uint64_t samples_ = 0, handler_ns_ = 0, drained_ = 0;
  static constexpr size_t kMaxUnknown = 64;
  int unknown_tids_[kMaxUnknown] = {};  // seen by the last look
  uint64_t unknown_threads_ = 0;
  uint64_t earlier_cpu_ns_ = 0;         // of this process, in earlier logs of it
};

}  // namespace sonde
