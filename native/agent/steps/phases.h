// Phases of training in a native program, written as they end. A Python program has its own observer, which sees more.
//
// A phase that an exception leaves is not written; whoever holds the variable that says "inside" puts it back (Restores).
#pragma once

#include <cstdint>

#include "steps/event_log.h"

namespace sonde {

// Whether this process has no running Python interpreter. Asked before each phase; a pointer test once it is known.
bool phases_wanted();

// From its construction to its end, when `outermost`: inner ones belong to the outer one.
class TrainingPhase {
 public:
  TrainingPhase(Event code, bool outermost, const void* subject);
  ~TrainingPhase();
  TrainingPhase(const TrainingPhase&) = delete;
  TrainingPhase& operator=(const TrainingPhase&) = delete;

 private:
  const Event code_;
  const uint64_t start_ns_;  // 0: not to be written
  const void* const subject_;
};

class BackwardPass : public TrainingPhase {
 public:
  explicit BackwardPass(bool outermost) : TrainingPhase(Event::Backward, outermost, nullptr) {}
};

// A call of a module of torch's own library. The model's own forward is C++ of the program, which nothing announces: a
// forward pass is what lies between the first of its modules and the last before the backward pass, or before the
// first one is called again.
class ModuleCall {
 public:
  ModuleCall(bool outermost, const void* module);
  ~ModuleCall();
  ModuleCall(const ModuleCall&) = delete;
  ModuleCall& operator=(const ModuleCall&) = delete;

 private:
  const bool counts_;
};

}  // namespace sonde
