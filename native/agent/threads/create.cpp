// pthread_create and thrd_create as the program calls them: the new thread registers itself before its routine runs.
#include "threads/create.h"

#include <limits.h>

#include "attach/control.h"
#include "core/agent.h"
#include "log/loss.h"
#include "process/confined.h"
#include "signals/mask.h"
#include "signals/real.h"
#include "threads/registry.h"

namespace sonde {
namespace {

using PthreadCreate = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
// threads.h as glibc has it since 2.28; the library is built for 2.17, too.
using ThrdRoutine = int (*)(void*);
using ThrdCreate = int (*)(unsigned long*, ThrdRoutine, void*);
constexpr int kThrdSuccess = 0;
PthreadCreate pthread_create_cached;
ThrdCreate thrd_create_cached;
pthread_key_t end_key;
bool end_key_made = false;

// Destructors of other keys use CPU time too: stay until the last round.
void on_thread_end(void* value) {
  Thread* thread = current_thread();
  if (!thread) return;
  if (++thread->destructor_rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1) {
    pthread_setspecific(end_key, value);
  } else {
    end_thread();
  }
}

// Registers the thread that runs it. What it was to run is read before: the state is shared from then on.
template <typename Result>
Result thread_main(void* state) {
  auto* thread = static_cast<Thread*>(state);
  const auto routine = reinterpret_cast<Result (*)(void*)>(reinterpret_cast<void (*)()>(thread->routine));
  void* argument = thread->argument;
  inherit_belief(thread->belief);
  watch_this_thread();
  begin_thread(thread, log::ThreadKind::Ordinary);
  return routine(argument);
}

// Null: the thread is started as if we were not there.
Thread* thread_for(void* (*routine)(void*), void* argument) {
  if (!agent_present() && !agent_sleeps()) return nullptr;  // one that sleeps will want its threads to have a stack
  if (is_filtered()) {
    count_loss(Loss::ThreadsConfined);
    return nullptr;
  }
  Thread* thread = take_thread();
  if (!thread) return nullptr;
  thread->routine = routine;
  thread->argument = argument;
  thread->belief = sample_signal_believed_blocked();
  return thread;
}

}  // namespace

int real_pthread_create(pthread_t* id, const pthread_attr_t* attributes, void* (*routine)(void*), void* argument) {
  return real(&pthread_create_cached, "pthread_create")(id, attributes, routine, argument);
}

void watch_thread_ends() {
  if (!end_key_made) end_key_made = pthread_key_create(&end_key, on_thread_end) == 0;
}

void watch_this_thread() {
  if (end_key_made) pthread_setspecific(end_key, &end_key);
}

}  // namespace sonde

SONDE_EXPORT int pthread_create(pthread_t* id, const pthread_attr_t* attributes, void* (*routine)(void*),
                                void* argument) noexcept {
  using namespace sonde;
  Thread* thread = thread_for(routine, argument);
  if (!thread) return real_pthread_create(id, attributes, routine, argument);
  int error = real_pthread_create(id, attributes, thread_main<void*>, thread);
  if (error) give_back(thread);
  return error;
}

// C11's: in glibc it does not come by the pthread_create above.
SONDE_EXPORT int thrd_create(unsigned long* id, sonde::ThrdRoutine routine, void* argument) {
  using namespace sonde;
  const auto call = real(&thrd_create_cached, "thrd_create");
  const auto kept = reinterpret_cast<void* (*)(void*)>(reinterpret_cast<void (*)()>(routine));
  Thread* thread = thread_for(kept, argument);
  if (!thread) return call(id, routine, argument);
  int result = call(id, thread_main<int>, thread);
  if (result != kThrdSuccess) give_back(thread);
  return result;
}
