// A wait that ends: as long as the object lives, a blocking call of this thread returns EINTR after the time is over.
// A wait by looking again and again would either wake up late or take the CPU from the thread that it waits for.
#pragma once

#include <signal.h>
#include <time.h>

#include <cstdint>

namespace sonde::attach {

uint64_t now_ns();

class Patience {
 public:
  Patience();
  ~Patience();
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  // The next stop or end of the thread, at most `limit_ns` from now. False: the time is over, or there is no such thread.
  bool wait_for(int tid, int* status, uint64_t limit_ns);

 private:
  timer_t timer_ = {};
  bool has_timer_ = false;
  struct sigaction before_ = {};
};

}  // namespace sonde::attach
