#include "background/recorder.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "background/proc_text.h"
#include "common/clock.h"
#include "common/guarded_memory.h"
#include "common/system.h"
#include "core/agent.h"
#include "engine/engine.h"
#include "jit/jit.h"
#include "pools/owner.h"
#include "process/follow.h"
#include "process/secrets.h"
#include "python/frames.h"
#include "sample/record.h"
#include "signals/shared.h"
#include "threads/adopt.h"
#include "threads/registry.h"

namespace sonde {
namespace {

constexpr uint32_t kAgentThread = 0x7fffffff;        // number of the background thread in the log
constexpr uint32_t kUnknownThreads = 0x7ffffffe;     // all threads that are not followed, together
constexpr uint64_t kTryAgainNs = 500'000'000;        // after a write that failed

uint64_t nanoseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_usec) * 1000u;
}

uint64_t cpu_of(const Thread* thread) {
  timespec cpu = {};
  if (clock_gettime(thread_cpu_clock(thread->tid), &cpu) != 0) return 0;
  return static_cast<uint64_t>(cpu.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(cpu.tv_nsec);
}

}  // namespace

void Recorder::begin(log::ProcessOrigin origin, uint64_t start_ns) {
  origin_ = origin;
  if (agent_visits()) {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    earlier_ = {0, nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime)};
    resumed_ = python_known_ = python_looked_ = false;
    samples_ = handler_ns_ = drained_ = 0;
    handler_times_.clear();
    walk_times_.clear();
  } else if (!is_fork_ && !resumed_) {
    earlier_ = earlier_cpu();
  }
  start_ns_ = start_ns;
  stacks_.on_new_epoch([](void* waits) { static_cast<WaitRecorder*>(waits)->before_new_epoch(); }, &waits_);
  next_pass_ns_ = next_refresh_ns_ = next_counters_ns_ = next_names_ns_ = next_try_ns_ = 0;
  part_ = 0;
  next_part_ns_ = start_ns + agent_options().ring_ns / kRingParts;
  pace_.start(start_ns);
  forget_kept_files();
}

void Recorder::write_header() {
  char given[4096], command[4096];
  size_t size = read_file("/proc/thread-self/cmdline", given, sizeof given);
  while (size && given[size - 1] == 0) size--;
  size = hide_secrets(given, size, command, sizeof command);
  Engine* engine = agent_engine();
  log_.begin(log::Record::Header).number(log::kFormatVersion).number(static_cast<uint64_t>(agent_pid()));
  log_.number(static_cast<uint64_t>(getppid())).number(start_ns_).signed_number(epoch_offset_ns());
  log_.number(agent_options().rate_hz).text(engine ? engine->name() : "none").text(python_version());
  log_.bytes(command, size).number(static_cast<uint64_t>(origin_));
  log_.end();
}

bool Recorder::open() {
  char path[480];
  snprintf(path, sizeof path, "%s/raw", agent_options().folder);
  mkdir(path, 0700);
  snprintf(path, sizeof path, "%s/raw/%d.%llu.slog", agent_options().folder, agent_pid(),
           static_cast<unsigned long long>(start_ns_));
  if (!session_.open(path)) {
    opened_late_ = true;
    return false;
  }
  if (opened_late_) drop_what_waits();
  const uint64_t now_ns = mono_ns();
  for (uint32_t i = 0; resumed_ && i < thread_slots(); i++) {
    Thread* thread = thread_at(i);
    if (thread->phase.load(std::memory_order_acquire) == Phase::Live) WaitRecorder::begin_account(thread, now_ns);
  }
  say_everything(start_ns_);
  if (agent_options().blocks) blocks_.start(mono_ns());
  return true;
}

void Recorder::say_everything(uint64_t since_ns) {
  waits_.begin_session();
  write_header();
  log_.flush();  // at once: reading the mappings takes a millisecond, in which a short child may end
  log_.begin(log::Record::Statistics).text("boot_id").number(read_boot_id());
  log_.end();
  if (agent_options().ring_ns) write_part(since_ns);
  session_.mappings.update(log_, since_ns, Mappings::Look::First);
  log_.flush();
}

// A disk that is full stays so for a while, and the try is a small write: nothing is gained by more of them.
void Recorder::close_gap(uint64_t now_ns) {
  if (now_ns < next_try_ns_) return;
  next_try_ns_ = now_ns + kTryAgainNs;
  uint64_t from_ns = 0;
  if (session_.open_after_gap(now_ns, &from_ns)) say_everything(from_ns);
}

void Recorder::turn_ring(uint64_t now_ns) {
  const Options& asked = agent_options();
  if (!asked.ring_ns || session_.interrupted()) return;
  const uint64_t most_bytes = asked.ring_bytes * kLogShareOf8 / 8 / (kRingParts + 1);
  if ((now_ns < next_part_ns_ && log_.file_bytes() < most_bytes) || now_ns < next_try_ns_) return;
  next_try_ns_ = now_ns + kTryAgainNs;
  uint64_t from_ns = 0;
  if (!session_.turn(part_ + 1, now_ns, &from_ns)) return;
  part_++;
  next_part_ns_ = now_ns + asked.ring_ns / kRingParts;
  say_everything(from_ns);
}

void Recorder::write_part(uint64_t now_ns) {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  log_.begin(log::Record::Part).number(part_).number(now_ns);
  log_.number(nanoseconds(usage.ru_utime) - earlier_.user_ns);
  log_.number(nanoseconds(usage.ru_stime) - earlier_.system_ns);
  log_.end();
}

void Recorder::drop_what_waits() {
  uint64_t samples = 0, cpu_ns = 0;
  for (uint32_t i = 0; i < thread_slots(); i++) {
    Thread* thread = thread_at(i);
    if (thread->phase.load(std::memory_order_acquire) != Phase::Live) continue;
    while (const uint64_t* record = thread->ring.peek()) {
      SampleHead head;
      std::memcpy(&head, record, sizeof head);
      samples++;
      cpu_ns += head.weight_ns;
      thread->ring.pop(head.words);
    }
    const uint64_t used_ns = cpu_of(thread), accounted_ns = thread->accounted_ns.load(std::memory_order_relaxed);
    if (used_ns <= accounted_ns) continue;
    cpu_ns += used_ns - accounted_ns;
    thread->accounted_ns.store(used_ns, std::memory_order_relaxed);
  }
  log_.count_lost(samples, cpu_ns);
  opened_late_ = false;
}

void Recorder::announce(Thread* thread) {
  if (!session_.must_announce(thread)) return;
  pace_.look_again_soon();
  if (!thread->name[0]) read_thread_name(thread->tid, thread->name);
  log_.begin(log::Record::ThreadStart).number(thread->number).number(static_cast<uint64_t>(thread->tid));
  log_.number(thread->start_ns).text(thread->name).number(static_cast<uint64_t>(thread->kind));
  log_.number(reinterpret_cast<uint64_t>(thread->routine));
  log_.end();
  if (thread->adopted && thread->wait.looked_ns == 0) WaitRecorder::begin_account(thread, thread->start_ns);
  if (thread->unseen_cpu_ns) stacks_.write_residual(thread->number, thread->start_ns, thread->unseen_cpu_ns);
  thread->unseen_cpu_ns = 0;
}

void Recorder::drain(Thread* thread) {
  uint32_t words = 0;
  while (const uint64_t* record = thread->ring.peek()) {
    const auto size = static_cast<uint32_t>(*record);
    stacks_.write_sample(thread->number, record);
    drained_++;
    words += size;
    thread->ring.pop(size);
  }
  pace_.drained(words);
}

void Recorder::write_thread_end(Thread* thread, uint64_t end_ns, uint64_t cpu_ns) {
  waits_.end_of(thread, end_ns, cpu_ns);
  uint64_t accounted = thread->accounted_ns.load(std::memory_order_relaxed);
  if (cpu_ns > accounted) stacks_.write_residual(thread->number, end_ns, cpu_ns - accounted);
  log_.begin(log::Record::ThreadEnd).number(thread->number).number(end_ns).number(cpu_ns).text(thread->name);
  log_.end();
}

void Recorder::pass(uint64_t now_ns) {
  if (session_.interrupted()) close_gap(now_ns);
  refresh(now_ns);
  for (uint32_t i = 0; i < thread_slots(); i++) {
    Thread* thread = thread_at(i);
    Phase phase = thread->phase.load(std::memory_order_acquire);
    if (phase != Phase::Live && phase != Phase::Ended) continue;
    announce(thread);
    drain(thread);
    if (phase == Phase::Ended) {
      pace_.look_again_soon();
      write_thread_end(thread, thread->end_ns, thread->end_cpu_ns);
      samples_ += thread->samples.exchange(0, std::memory_order_relaxed);
      handler_ns_ += thread->handler_ns.exchange(0, std::memory_order_relaxed);
      handler_times_.add(thread->handler_times);
      walk_times_.add(thread->walk_times);
      give_back(thread);
    }
  }
  rate_.look(now_ns, stacks_.weight_total_ns());
  blocks_.pass(mono_ns());
  look_at_waits();
  python_write_codes(log_);
  if (now_ns >= next_counters_ns_) {
    session_.counters.write(log_, now_ns);
    next_counters_ns_ = now_ns + kCountersEveryNs;
  }
  log_.flush();
  session_.write_losses();
  turn_ring(now_ns);
}

// On a busy machine time in the run queue needs frequent looks, but nothing else does: they come between passes, which cost
// several times as much.
void Recorder::look_at_waits() {
  next_look_ns_ = kNoLook;
  if (!agent_options().waits) return;
  const uint64_t now_ns = mono_ns();
  const News news = waits_.look(now_ns);
  if (news == News::Queue) next_look_ns_ = now_ns + kBusyPassNs;
  if (news != News::Place) return;
  pace_.look_again_soon();
  if (next_pass_ns_ > now_ns + kBusyPassNs) next_pass_ns_ = now_ns + kBusyPassNs;
}

void Recorder::tend(uint64_t now_ns, bool asked) {
  if (!asked && now_ns < next_pass_ns_) {
    const bool looks = now_ns >= next_look_ns_;
    if (looks) look_at_waits();
    blocks_.pass(now_ns);
    // Waking up to switch is the cost of measuring, not of sampling: without blocks there is none of it.
    if (blocks_.active() && !looks) blocks_cpu_ns_ += thread_cpu_ns() - cpu_at_sleep_ns_;
    return;
  }
  pass(now_ns);
  next_pass_ns_ = now_ns + pace_.next_ns(now_ns, ring_words());
}

uint64_t Recorder::sleep_ns(uint64_t now_ns) {
  uint64_t until_ns = next_pass_ns_ < next_look_ns_ ? next_pass_ns_ : next_look_ns_;
  if (blocks_.active()) cpu_at_sleep_ns_ = thread_cpu_ns();
  if (blocks_.active() && blocks_.end_ns() < until_ns) until_ns = blocks_.end_ns();
  return until_ns > now_ns ? until_ns - now_ns : 1;
}

void Recorder::refresh(uint64_t now_ns) {
  if (now_ns < next_refresh_ns_) return;
  next_refresh_ns_ = now_ns + kRefreshEveryNs;
  bool libraries_changed = session_.mappings.update(log_, now_ns, Mappings::Look::Usual);
  unwind_refresh();
  pools_refresh();
  tend_adopted_threads();
  if (adopt_unknown_threads(EarlierTime::Counts, Certainty::SecondLook)) pace_.look_again_soon();
  if (jit_poll(log_) || libraries_changed) pace_.look_again_soon();
  look_for_python(libraries_changed);
  if (now_ns >= next_names_ns_) {
    next_names_ns_ = now_ns + kNamesEveryNs;
    read_names();
    check_shared_signals();
  }
}

// An interpreter may come later (embedded, dlopen'ed): look again whenever a library came.
void Recorder::look_for_python(bool libraries_changed) {
  if (python_known_ || (python_looked_ && !libraries_changed)) return;
  python_looked_ = true;
  const char* why = nullptr;
  bool attached = python_attach(&why);
  python_known_ = python_version()[0] != 0;
  if (!python_known_) return;
  if (!attached) count_loss(Loss::PythonUnknown);
  write_header();
}

void Recorder::read_names() {
  for (uint32_t i = 0; i < thread_slots(); i++) {
    Thread* thread = thread_at(i);
    if (thread->phase.load(std::memory_order_acquire) != Phase::Live) continue;
    char name[16];
    read_thread_name(thread->tid, name);
    // The thread itself writes its name when it ends; it is Live here only if it has not yet.
    if (name[0] && thread->phase.load(std::memory_order_acquire) == Phase::Live) {
      std::memcpy(thread->name, name, sizeof name);
    }
  }
}

// What the process used beyond all of the above: the last microseconds of threads that ended (the kernel
// takes them apart), and threads that are not followed. With it the sum is the CPU time.
void Recorder::write_rest(uint64_t now_ns) {
  uint64_t used_ns = process_cpu_ns() - earlier_.user_ns - earlier_.system_ns;
  uint64_t written_ns = stacks_.weight_total_ns();
  if (used_ns <= written_ns) return;
  log_.begin(log::Record::ThreadStart).number(kUnknownThreads).number(0).number(now_ns);
  log_.text("(not followed)").number(static_cast<uint64_t>(log::ThreadKind::Unknown)).number(0);
  log_.end();
  stacks_.write_residual(kUnknownThreads, now_ns, used_ns - written_ns);
  log_.begin(log::Record::ThreadEnd).number(kUnknownThreads).number(now_ns).number(used_ns - written_ns);
  log_.text("(not followed)");
  log_.end();
}

void Recorder::write_statistics() {
  const struct {
    const char* name;
    uint64_t value;
  } figures[] = {
      {"samples", samples_},
      {"handler_ns", handler_ns_},
      {"handler_p50_ns", handler_times_.quantile(0.5)},
      {"handler_p95_ns", handler_times_.quantile(0.95)},
      {"walk_p50_ns", walk_times_.quantile(0.5)},
      {"walk_p95_ns", walk_times_.quantile(0.95)},
      {"background_cpu_ns", thread_cpu_ns() - blocks_cpu_ns_},
      {"log_bytes", log_.bytes_written()},
      {"thread_memory_bytes", thread_memory_bytes()},
      {"node_memory_bytes", stacks_.memory_bytes()},
      {"faults_guarded", guarded_fault_count()},
      {"lowest_rate_hz", lowest_rate_hz()},
  };
  for (const auto& figure : figures) {
    log_.begin(log::Record::Statistics).text(figure.name).number(figure.value);
    log_.end();
  }
}

void Recorder::finish(log::EndReason reason, int agent_tid) {
  uint64_t now_ns = mono_ns();
  next_refresh_ns_ = now_ns;  // once more, so that late libraries and names are known
  next_counters_ns_ = now_ns;
  next_try_ns_ = 0;
  pass(now_ns);
  for (uint32_t i = 0; i < thread_slots(); i++) {
    Thread* thread = thread_at(i);
    if (thread->phase.load(std::memory_order_acquire) != Phase::Live) continue;
    const uint64_t cpu_ns = cpu_of(thread);
    if (cpu_ns == 0) continue;
    drain(thread);
    write_thread_end(thread, now_ns, cpu_ns);
    thread->accounted_ns.store(cpu_ns, std::memory_order_relaxed);  // should an exec fail and the process go on
    samples_ += thread->samples.exchange(0, std::memory_order_relaxed);
    handler_ns_ += thread->handler_ns.exchange(0, std::memory_order_relaxed);
    handler_times_.add(thread->handler_times);
    walk_times_.add(thread->walk_times);
  }
  blocks_.finish(now_ns);
  session_.mappings.update(log_, now_ns, Mappings::Look::Last);
  python_write_codes(log_);
  if (log_.refused()) count_loss(Loss::RecordsTooLarge, log_.refused());
  write_statistics();
  uint64_t own_ns = thread_cpu_ns();
  log_.begin(log::Record::ThreadStart).number(kAgentThread).number(static_cast<uint64_t>(agent_tid));
  log_.number(start_ns_).text("sonde").number(static_cast<uint64_t>(log::ThreadKind::Agent)).number(0);
  log_.end();
  stacks_.write_residual(kAgentThread, now_ns, own_ns);
  log_.begin(log::Record::ThreadEnd).number(kAgentThread).number(now_ns).number(own_ns).text("sonde");
  log_.end();
  write_rest(now_ns);
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  log_.begin(log::Record::Footer).number(mono_ns()).signed_number(epoch_offset_ns());
  const uint64_t user_ns = nanoseconds(usage.ru_utime), system_ns = nanoseconds(usage.ru_stime);
  log_.number(user_ns - earlier_.user_ns).number(system_ns - earlier_.system_ns);
  log_.number(static_cast<uint64_t>(usage.ru_maxrss) * 1024u).number(static_cast<uint64_t>(reason));
  log_.end();
  session_.close();
  // Should an exec fail and the process go on, in a log of its own.
  earlier_ = {0, user_ns, system_ns};
  resumed_ = true;
}

void Recorder::forget() {
  session_.forget();
  waits_.reset();
  rate_.reset();
  python_known_ = python_looked_ = false;
  samples_ = handler_ns_ = drained_ = 0;
  handler_times_.clear();
  walk_times_.clear();
  earlier_ = EarlierCpu{};
  is_fork_ = true;
  resumed_ = opened_late_ = false;
}

}  // namespace sonde
