// One pass of the background thread: what the rings and the system tell goes into the log.
// Not async-signal-safe. Invariant: a thread is announced (ThreadStart) before its first sample.
#pragma once

#include <cstdint>

#include "background/blocks.h"
#include "background/log_session.h"
#include "background/pace.h"
#include "engine/shared_rate.h"
#include "process/follow.h"
#include "threads/thread.h"
#include "waits/waits.h"

namespace sonde {

class Recorder {
 public:
  constexpr Recorder() : waits_(&log_, &stacks_), blocks_(&log_, &stacks_) {}

  // `start_ns` names the log; nothing is written before open().
  void begin(log::ProcessOrigin origin, uint64_t start_ns);
  bool open();  // creates the log and writes what is known so far; false: try again later
  bool is_open() const { return session_.is_open(); }

  // What is due: `asked` or in time, a pass; in between at most the end of an overhead block.
  void tend(uint64_t now_ns, bool asked);
  uint64_t sleep_ns(uint64_t now_ns);  // until something is due
  void finish(log::EndReason reason, int agent_tid);
  void forget();  // in the child of a fork: the parent's log is not ours

 private:
  void pass(uint64_t now_ns);  // drain everything, refresh what is due, one chunk
  void look_at_waits();
  void say_everything(uint64_t since_ns);  // at the start of a session
  void close_gap(uint64_t now_ns);         // after a failed write
  void turn_ring(uint64_t now_ns);         // into its next file, when that is due
  void write_part(uint64_t now_ns);
  void drop_what_waits();                  // in the rings, because there was no log for so long
  void write_header();
  void announce(Thread* thread);
  void drain(Thread* thread);
  void write_thread_end(Thread* thread, uint64_t end_ns, uint64_t cpu_ns);
  void write_rest(uint64_t now_ns);
  void refresh(uint64_t now_ns);
  void look_for_python(bool libraries_changed);
  void read_names();
  void write_statistics();

  LogSession session_;
  log::Writer& log_ = session_.log;
  StackWriter& stacks_ = session_.stacks;
  WaitRecorder waits_;
  Blocks blocks_;
  SharedRate rate_;
  log::ProcessOrigin origin_ = log::ProcessOrigin::Started;
  uint64_t start_ns_ = 0;
  Pace pace_;
  uint64_t next_pass_ns_ = 0, next_refresh_ns_ = 0, next_counters_ns_ = 0, next_names_ns_ = 0;
  static constexpr uint64_t kNoLook = ~uint64_t{0};
  uint64_t next_look_ns_ = kNoLook;  // at waits alone, before the next pass
  uint64_t next_try_ns_ = 0;  // to go on after a failed write
  uint32_t part_ = 0;         // of the ring
  uint64_t next_part_ns_ = 0;
  bool is_fork_ = false;  // CPU clocks began with this process
  bool python_known_ = false, python_looked_ = false;
  Histogram handler_times_, walk_times_;
  uint64_t blocks_cpu_ns_ = 0, cpu_at_sleep_ns_ = 0;
  uint64_t samples_ = 0, handler_ns_ = 0, drained_ = 0;
  EarlierCpu earlier_;                  // of this process, in earlier logs of it
  bool resumed_ = false;                // there is one by this very program
  bool opened_late_ = false;            // the log could not be created when it was due
};

}  // namespace sonde
