// pthread_create as the program calls it: the new thread registers itself before its routine runs.
#include "threads/create.h"

#include <limits.h>

#include "core/agent.h"
#include "signals/mask.h"
#include "signals/real.h"
#include "threads/registry.h"

namespace sonde {
namespace {

using PthreadCreate = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
PthreadCreate pthread_create_cached;
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

void* thread_main(void* state) {
  auto* thread = static_cast<Thread*>(state);
  void* (*routine)(void*) = thread->routine;
  void* argument = thread->argument;
  inherit_belief(thread->belief);
  watch_this_thread();
  begin_thread(thread, log::ThreadKind::Ordinary);
  return routine(argument);
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
  Thread* thread = agent_present() ? take_thread() : nullptr;
  if (!thread) return real_pthread_create(id, attributes, routine, argument);
  thread->routine = routine;
  thread->argument = argument;
  thread->belief = sample_signal_believed_blocked();
  int error = real_pthread_create(id, attributes, thread_main, thread);
  if (error) give_back(thread);
  return error;
}
