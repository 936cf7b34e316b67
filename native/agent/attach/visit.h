// The agent as a visitor: it comes into a program that already runs, records for a while, and leaves nothing that runs.
//
//   begin    the request is read, all threads are adopted; none is armed yet
//   stacks   from outside, each thread gets its alternate signal stack (native/attach); then its clock starts
//   start    handlers, log, slots of the libraries
//   stop     clocks off, slots back, the log is finished
//   stacks   from outside, each thread gets back what it had
//   end      the program's signal handlers are back, threads of the agent's end
//
// All on one thread of the agent's own. Not async-signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde {

class Visit {
 public:
  // False: the text says why.
  bool begin(const char* request, const char** why);
  bool start(const char** why);
  void stop();
  void end();

  bool recording() const { return recording_; }
  bool stopped() const { return stopped_; }
  uint32_t slots() const { return slots_; }

  void look_at_libraries();  // those that came meanwhile

  // Threads whose stacks are to be set: lines "TID LOW HIGH SELF"; behind `stop` those that get theirs back. The first
  // line has what all share: "SCRATCH SELF_AT STACKS_AT".
  size_t orders(char* out, size_t capacity) const;
  // Lines "TID ERROR THREAD_POINTER": what became of them.
  void done(const char* lines);

 private:
  bool recording_ = false, stopped_ = false, kept_ = false;
  uint32_t slots_ = 0;
};

}  // namespace sonde
