#include "attach/control.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <new>

#include "../attach/block.h"
#include "attach/python_call.h"
#include "attach/socket.h"
#include "attach/visit.h"
#include "common/clock.h"
#include "common/system.h"
#include "core/agent.h"
#include "signals/real.h"
#include "threads/create.h"
#include "threads/own.h"

// The injector looks for it in the program.
extern "C" __attribute__((visibility("default"))) uint64_t sonde_attach_pages;
uint64_t sonde_attach_pages = 0;

namespace sonde {
namespace {

constexpr int kLookEveryMs = 250;
constexpr uint64_t kCallerWithinNs = 20'000'000'000;  // nobody came: whoever sent the agent is gone
constexpr uint32_t kPythonWithinMs = 5'000;
constexpr size_t kLongestRequest = sizeof(AttachBlock::request);
constexpr size_t kAnswerBytes = 256u << 10;

constinit std::atomic<bool> taken{false}, dormant{false};
constinit std::atomic<int> sleeping_at{-1};  // the descriptor that wakes it

struct Control {
  Visit visit;
  int listening = -1;
  int master = -1;   // came with the agent: when it hangs up, the agent leaves
  int guest = -1;    // asks something meanwhile
  char path[128] = {};
  pthread_t injected = {};
  uint64_t pages = 0;
  std::atomic<uint32_t>* sacrificial = nullptr;
  bool begun = false, over = false;
  bool joins = false;   // the program is being recorded: questions only
  bool stays = false;   // sleeps after each visit
  char request[kLongestRequest + 1] = {};
  char body[kLongestBody + 1] = {};
  char answer[kAnswerBytes] = {};
};

bool is(const Command& command, const char* name) { return !std::strcmp(command.name, name); }

bool say(Control* control, int fd, bool ok, const char* text) {
  (void)control;
  return reply(fd, ok, text, std::strlen(text));
}

bool tell_status(Control* control, int fd) {
  const Visit& visit = control->visit;
  const int length = snprintf(control->answer, sizeof control->answer, "pid %d\nstate %s\nslots %u\nfolder %s\n", agent_pid(),
                              control->joins ? "joined" : visit.stopped() ? "stopped" : visit.recording() ? "recording" : control->stays ? "dormant" : "waiting", visit.slots(),
                              agent_options().folder);
  return reply(fd, true, control->answer, static_cast<size_t>(length));
}

bool tell_orders(Control* control, int fd) {
  return reply(fd, true, control->answer, control->visit.orders(control->answer, sizeof control->answer));
}

bool run_python(Control* control, int fd, const Command& command) {
  const uint32_t limit_ms = command.number ? command.number : kPythonWithinMs;
  switch (call_python(control->body, command.size, limit_ms, control->answer, sizeof control->answer)) {
    case PythonAnswer::Said: return say(control, fd, true, control->answer);
    case PythonAnswer::NoInterpreter: return say(control, fd, false, "no interpreter");
    case PythonAnswer::TooLong: return say(control, fd, false, "the interpreter did not answer in time");
    case PythonAnswer::Failed: break;
  }
  return say(control, fd, false, control->answer[0] ? control->answer : "the interpreter refused");
}

// The injector has seen that the agent is in, and its threads have done their part. What was mapped for them stays, for
// the next time: the program's malloc may have noted the first thread's variables, as those of a thread that never ended.
void clear_up(Control* control) {
  if (!control->pages) return;
  pthread_join(control->injected, nullptr);
  for (int i = 0; i < 1000 && control->sacrificial->load(std::memory_order_acquire); i++) {
    const timespec pause = {0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  if (!control->sacrificial->load(std::memory_order_acquire)) {
    __atomic_store_n(&sonde_attach_pages, control->pages, __ATOMIC_RELEASE);
  }
  control->pages = 0;
}

// False: hang up.
bool obey(Control* control, int fd) {
  Command command;
  if (!read_command(fd, &command, control->body)) return false;
  if (is(command, "status")) return tell_status(control, fd);
  if (is(command, "python")) return run_python(control, fd, command);
  if (fd == control->master && is(command, "end")) {
    control->over = true;
    return say(control, fd, true, control->stays && dormant.load(std::memory_order_acquire) ? "stays" : "leaves");
  }
  if (fd != control->master) return say(control, fd, false, "another attach is under way");
  const char* why = "";
  if (is(command, "begin")) {
    clear_up(control);
    if (command.size && command.size <= kLongestRequest) std::memcpy(control->request, control->body, command.size + 1);
    if (control->joins) return say(control, fd, false, "the process is being recorded already");
    control->begun = control->begun || control->visit.begin(control->request, &why);
    return control->begun ? tell_orders(control, fd) : say(control, fd, false, why);
  }
  if (!control->begun) return say(control, fd, false, "nothing has begun");
  if (is(command, "orders")) return tell_orders(control, fd);
  if (is(command, "done")) {
    control->visit.done(control->body);
    return say(control, fd, true, "");
  }
  if (is(command, "start")) return control->visit.start(&why) ? tell_status(control, fd) : say(control, fd, false, why);
  if (is(command, "stop")) {
    control->visit.stop();
    return tell_orders(control, fd);
  }
  return say(control, fd, false, "unknown command");
}

void hang_up(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

void take_call(Control* control) {
  const int fd = answer_caller(control->listening);
  if (fd < 0) return;
  if (control->master < 0) {
    control->master = fd;
  } else {
    hang_up(&control->guest);
    control->guest = fd;
  }
}

void serve(Control* control) {
  const uint64_t give_up_ns = mono_ns() + kCallerWithinNs;
  while (!control->over) {
    pollfd ready[3] = {{control->listening, POLLIN, 0}, {control->master, POLLIN, 0}, {control->guest, POLLIN, 0}};
    const int count = poll(ready, 3, control->stays && control->master < 0 ? -1 : kLookEveryMs);
    if (control->master < 0 && !control->stays && mono_ns() > give_up_ns) return;
    control->visit.look_at_libraries();
    if (count <= 0) continue;
    if (ready[2].revents && !obey(control, control->guest)) hang_up(&control->guest);
    if (ready[1].revents && !obey(control, control->master)) return;
    if (ready[0].revents & POLLIN) take_call(control);
    else if (ready[0].revents) return;  // the program closed our descriptor
  }
}

void* run(void* argument) {
  auto* control = static_cast<Control*>(argument);
  prctl(PR_SET_NAME, "sonde-attach");
  note_own_thread();
  // Guarded reads fault here too.
  sigset_t faults;
  sigemptyset(&faults);
  sigaddset(&faults, SIGSEGV);
  sigaddset(&faults, SIGBUS);
  real_sigmask(SIG_UNBLOCK, &faults, nullptr);
  do {
    serve(control);
    clear_up(control);
    if (control->begun) control->visit.end();
    if (!control->stays || !dormant.load(std::memory_order_acquire)) break;
    hang_up(&control->guest);
    hang_up(&control->master);
    control->visit = Visit{};
    control->begun = control->over = false;
  } while (fcntl(control->listening, F_GETFD) >= 0);
  hang_up(&control->listening);
  unlink(control->path);
  hang_up(&control->guest);
  const int master = control->master;
  munmap(control, sizeof *control);
  forget_own_thread();
  taken.store(false, std::memory_order_release);
  if (master >= 0) close(master);  // last: who waits for it knows that nothing is left but this thread's own end
  return nullptr;
}

}  // namespace

bool start_control(AttachBlock* block, const char* request, const char** why) {
  const bool joins = agent_running();
  if (joins && !std::strstr(request, "SONDE_AGENT_JOIN=1")) {
    *why = "the process is being recorded already";
    return false;
  }
  if (taken.exchange(true, std::memory_order_acq_rel)) {
    *why = "another attach is under way";
    return false;
  }
  void* memory = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* control = memory == MAP_FAILED ? nullptr : new (memory) Control;
  *why = "no memory";
  if (control) {
    *why = "no place for a socket: neither /tmp nor /dev/shm can be written";
    control->listening = listen_for_sonde(control->path, sizeof control->path);
    std::strncpy(control->request, request, kLongestRequest);
    control->joins = joins;
    control->stays = dormant.load(std::memory_order_acquire);
    if (control->stays) sleeping_at.store(control->listening, std::memory_order_release);
    if (block) {
      control->pages = block->pages;
      control->injected = block->thread;
      control->sacrificial = reinterpret_cast<std::atomic<uint32_t>*>(&block->sacrificial);
    }
    pthread_t thread;
    if (control->listening >= 0) {
      *why = "the program cannot start another thread";
      if (real_pthread_create(&thread, nullptr, run, control) == 0) {
        pthread_detach(thread);
        return true;
      }
    }
    hang_up(&control->listening);
    munmap(memory, sizeof(Control));
  }
  taken.store(false, std::memory_order_release);
  return false;
}

bool start_dormant() {
  const char* why = "";
  dormant.store(true, std::memory_order_release);
  sigset_t all, before;
  sigfillset(&all);
  real_sigmask(SIG_SETMASK, &all, &before);
  const bool started = start_control(nullptr, "", &why);
  real_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) dormant.store(false, std::memory_order_release);
  return started;
}

bool agent_sleeps_through() { return dormant.load(std::memory_order_acquire); }
bool agent_sleeps() { return dormant.load(std::memory_order_acquire) && !agent_visits(); }

void end_dormant() {
  if (!dormant.exchange(false, std::memory_order_acq_rel)) return;
  shutdown(sleeping_at.load(std::memory_order_acquire), SHUT_RDWR);
}

void control_after_fork() {
  taken.store(false, std::memory_order_release);
  if (!dormant.load(std::memory_order_acquire)) return;
  close(sleeping_at.load(std::memory_order_acquire));
  start_dormant();
}

}  // namespace sonde

// What the injector calls, on a thread of the program's libc.
SONDE_EXPORT int sonde_agent_attach(sonde::AttachBlock* block) {
  const char* why = "";
  if (sonde::start_control(block, block->request, &why)) {
    return 0;
  }
  std::strncpy(block->answer, why, sizeof block->answer - 1);
  return 1;
}
