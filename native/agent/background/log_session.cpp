#include "background/log_session.h"

#include "core/options.h"
#include "jit/jit.h"
#include "python/frames.h"

namespace sonde {

void LogSession::begin() {
  number_++;
  stacks.begin_session();
  mappings.reset();
  counters.reset();
  python_forget_written();
  jit_forget_written();
}

bool LogSession::open(const char* path) {
  if (!log.open(path)) return false;
  stacks.begin_account();
  begin();
  return true;
}

bool LogSession::open_after_gap(uint64_t now_ns, uint64_t* from_ns) {
  // Later than all that the last whole chunk tells, and so a mark between what was told before and after.
  *from_ns = log.whole_until_ns() + 1;
  log.go_on();
  begin();
  log.begin(log::Record::Gap).number(*from_ns).number(now_ns);
  log.end();
  return log.flush();
}

bool LogSession::turn(uint32_t part, uint64_t now_ns, uint64_t* from_ns) {
  if (!log.turn(part, kRingParts)) return false;
  *from_ns = now_ns;
  begin();
  log.begin(log::Record::Gap).number(now_ns).number(now_ns);
  log.end();
  return true;
}

bool LogSession::must_announce(Thread* thread) {
  if (thread->announced_in == number_) return false;
  thread->announced_in = number_;
  return true;
}

void LogSession::write_losses() {
  losses_.write(log);
  log.set_other_losses(log.broken() ? losses_.untold() : 0);
  log.flush();
}

void LogSession::close() {
  write_losses();
  log.close();
}

void LogSession::forget() {
  log.abandon();
  losses_.forget_earlier();
  begin();
}

}  // namespace sonde
