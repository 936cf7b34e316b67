#include "core/agent.h"

#include <pthread.h>
#include <stdlib.h>

#include <atomic>

#include "attach/control.h"
#include "background/background.h"
#include "common/clock.h"
#include "common/system.h"
#include "jit/jit.h"
#include "log/loss.h"
#include "pools/owner.h"
#include "process/confined.h"
#include "process/environment.h"
#include "process/follow.h"
#include "python/frames.h"
#include "signals/mask.h"
#include "signals/real.h"
#include "signals/shared.h"
#include "steps/event_log.h"
#include "threads/create.h"
#include "threads/own.h"
#include "threads/registry.h"
#include "unwind/unwind.h"

namespace sonde {
namespace {

constinit Options options;
constinit Engine* engine = nullptr;
constinit std::atomic<bool> present{false}, sampling{false}, running{false}, visits{false};
constinit std::atomic<int> pid{0};
// Of the fork that this thread is in: while it copies a large process others may try theirs, and fail to get the lock.
// One flag for all would leave the lock taken for ever.
__thread bool fork_is_clean __attribute__((tls_model("initial-exec"))) = false;
__thread bool fork_is_ours __attribute__((tls_model("initial-exec"))) = false;  // prepared: the agent ran when it began

void before_fork() {
  fork_is_ours = running.load(std::memory_order_acquire);
  if (!fork_is_ours && agent_sleeps()) registry_before_fork();
  if (!fork_is_ours) return;
  fork_is_clean = background_before_fork();
  registry_before_fork();
}

void after_fork_in_parent() {
  if (!fork_is_ours && agent_sleeps()) registry_after_fork_in_parent();
  if (!fork_is_ours) return;
  registry_after_fork_in_parent();
  if (fork_is_clean) background_after_fork_in_parent();
  if (is_filtered() || visits.load(std::memory_order_relaxed)) count_loss(Loss::ChildNotFollowed);
}

// The child is a process of its own: own log, own background thread; only this thread lives on.
void after_fork_in_child() {
  if (!fork_is_ours && agent_sleeps()) {
    pid.store(process_id(), std::memory_order_relaxed);
    registry_after_fork_in_child();
    own_threads_after_fork();
    control_after_fork();
    return;
  }
  if (!fork_is_ours) return;
  sampling.store(false, std::memory_order_relaxed);
  pid.store(process_id(), std::memory_order_relaxed);
  Thread* self = registry_after_fork_in_child();
  own_threads_after_fork();
  control_after_fork();
  background_after_fork_in_child(fork_is_clean);
  if (visits.load(std::memory_order_relaxed)) {  // nobody would tell the agent in the child when to leave
    running.store(false, std::memory_order_relaxed);
    set_current_thread(nullptr);
    if (self) {
      self->alternate = {};  // the kernel holds it for this thread: no other may get it
      give_back(self);
    }
    return;
  }
  if (!fork_is_clean) {  // the parent's tables were caught in the middle of a change
    running.store(false, std::memory_order_relaxed);
    note_unfollowed("fork while the agent was busy");
    return;
  }
  if (is_filtered()) {  // a log takes threads and files, and the child has the filter, too
    running.store(false, std::memory_order_relaxed);
    return;
  }
  pools_after_fork();
  events_after_fork();
  jit_after_fork();
  unwind_after_fork();
  if (!start_background(log::ProcessOrigin::Forked)) {
    running.store(false, std::memory_order_relaxed);
    note_unfollowed("no thread for the agent");
    return;
  }
  running.store(true, std::memory_order_relaxed);
  sampling.store(true, std::memory_order_release);
  if (self) {
    arm_current(self);
  } else if ((self = take_thread())) {
    watch_this_thread();
    begin_thread(self, log::ThreadKind::Main);
  }
}

bool start(log::ProcessOrigin origin) {
  engine = choose_engine(options);
  if (!engine) return false;
  if (!install_shared_signals()) return false;
  present.store(true, std::memory_order_release);
  const char* why = nullptr;
  python_attach(&why);
  unwind_refresh();
  if (!start_background(origin)) return false;
  running.store(true, std::memory_order_release);
  sampling.store(true, std::memory_order_release);
  Thread* thread = current_thread();
  if (thread) {  // resumed after a failed exec
    arm_current(thread);
  } else if ((thread = take_thread())) {
    thread->accounted_ns.store(earlier_cpu().thread_ns, std::memory_order_relaxed);
    watch_this_thread();
    begin_thread(thread, log::ThreadKind::Main);
  }
  return true;
}

// What handlers and wrappers may need, before any of them can run.
void resolve_all() {
  // A replaced malloc registers its fork handlers on first use: it must do so before we do, so
  // that it is whole again when ours run in the child.
  free(malloc(1));
  watch_thread_ends();
  jit_remember_folder();
  resolve_system_calls();
  resolve_writes();
  resolve_waits();
  resolve_masked_waits();
}

void watch_forks() {
  static bool watched = false;
  if (!watched) watched = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
}

// SONDE_DORMANT=1: nothing but a thread that sleeps. Threads of the program get their alternate stack as they start, so
// that the first tick of a visit finds it.
void sleep_until_called() {
  const char* asked = getenv("SONDE_DORMANT");
  if (!asked || asked[0] != '1' || is_helper_program()) return;
  pid.store(process_id(), std::memory_order_relaxed);
  resolve_all();
  watch_forks();
  if (!start_dormant()) return;
  Thread* thread = take_thread();
  if (!thread) return;
  watch_this_thread();
  begin_thread(thread, log::ThreadKind::Main);
}

__attribute__((constructor)) void enter() {
  // Loaded late, by a thread of `sonde attach`: what the program inherited from a `sonde run` around it is not meant.
  if (thread_id() != process_id()) return;
  if (!read_options(&options)) return sleep_until_called();
  pid.store(process_id(), std::memory_order_relaxed);
  log::ProcessOrigin origin = log::ProcessOrigin::Started;
  if (!should_follow(options, &origin)) return;
  remember_environment();
  resolve_all();
  if (!start(origin)) {
    note_unfollowed("the agent could not start");
    return;
  }
  watch_forks();
}

__attribute__((destructor)) void leave() { agent_stop(log::EndReason::Exit); }

}  // namespace

bool agent_present() { return present.load(std::memory_order_acquire); }
bool agent_sampling() { return sampling.load(std::memory_order_relaxed); }
int agent_pid() { return pid.load(std::memory_order_relaxed); }
const Options& agent_options() { return options; }
Engine* agent_engine() { return engine; }
void set_sampling(bool on) { sampling.store(on, std::memory_order_relaxed); }

void agent_stop(log::EndReason reason) {
  if (process_id() != agent_pid()) return;  // a vfork child shares our memory, but is not us
  if (!running.exchange(false)) return;
  sampling.store(false, std::memory_order_relaxed);
  if (!finish_background(reason)) note_unfollowed("the log could not be finished in time");
}

bool agent_running() { return running.load(std::memory_order_acquire); }
bool agent_visits() { return visits.load(std::memory_order_acquire); }

bool begin_visit(const Options& given) {
  options = given;
  pid.store(process_id(), std::memory_order_relaxed);
  visits.store(true, std::memory_order_release);
  resolve_all();
  watch_forks();
  engine = choose_engine(options);
  return engine != nullptr;
}

bool start_visit() {
  if (!install_shared_signals()) return false;
  present.store(true, std::memory_order_release);
  const char* why = nullptr;
  python_attach(&why);
  unwind_refresh();
  if (!start_background(log::ProcessOrigin::Started)) return false;
  running.store(true, std::memory_order_release);
  sampling.store(true, std::memory_order_release);
  return true;
}

void stop_visit() { agent_stop(log::EndReason::Exit); }

void end_visit() {
  present.store(false, std::memory_order_release);
  visits.store(false, std::memory_order_release);
}

void agent_resume() {
  if (process_id() != agent_pid() || !agent_present() || running.load()) return;
  start(log::ProcessOrigin::Started);
}

}  // namespace sonde
