// Stands in for torch's autograd engine: the two functions that the agent stands in front of, by their names there.
// A root or a node is a plain function, which may throw.
using Work = void (*)();

extern "C" void* execute(void* result, void* engine, const void* const* task, void* root, void* inputs) asm(
    "_ZN5torch8autograd6Engine23execute_with_graph_taskERKSt10shared_ptrINS0_9GraphTaskEE"
    "S2_INS0_4NodeEEONS0_11InputBufferE");
extern "C" void evaluate(void* engine, const void* const* task, void* node, void* inputs, void* queue) asm(
    "_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeERNS0_"
    "11InputBufferERKS2_INS0_10ReadyQueueEE");

#ifdef LIBRARY

void* execute(void* result, void*, const void* const*, void* root, void*) {
  reinterpret_cast<Work>(root)();
  return result;
}
void evaluate(void*, const void* const*, void* node, void*, void*) { reinterpret_cast<Work>(node)(); }

#else

#include <pthread.h>
#include <stdio.h>
#include <time.h>

namespace {

const void* const kFirstTask = &kFirstTask;
const void* const kTask = &kTask;  // of a pass that throws, and of a later one at the same address
pthread_barrier_t meeting;
int caught = 0;

void burn(double seconds) {
  timespec now;
  double end = 0;
  do {
    volatile double x = 0;
    for (int i = 0; i < 20000; i++) x = x + i;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    if (end == 0) end = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 + seconds;
  } while (static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 < end);
}

void nothing() {}
void fail() { throw 7; }
void meet() { pthread_barrier_wait(&meeting); }

}  // namespace

extern "C" __attribute__((noinline)) void work_inside() { burn(0.4); }
extern "C" __attribute__((noinline)) void work_after() { burn(0.4); }

namespace {

void hand_over() {
  meet();  // the worker may begin
  meet();  // and has done all
}

void* worker(void*) {
  evaluate(nullptr, &kFirstTask, reinterpret_cast<void*>(nothing), nullptr, nullptr);  // there are workers
  try {
    execute(nullptr, nullptr, &kTask, reinterpret_cast<void*>(fail), nullptr);
  } catch (int value) {
    caught = value;
  }
  meet();
  meet();
  evaluate(nullptr, &kTask, reinterpret_cast<void*>(work_inside), nullptr, nullptr);
  work_after();
  meet();
  return nullptr;
}

}  // namespace

int main() {
  pthread_barrier_init(&meeting, nullptr, 2);
  pthread_t id;
  pthread_create(&id, nullptr, worker, nullptr);
  meet();
  execute(nullptr, nullptr, &kTask, reinterpret_cast<void*>(hand_over), nullptr);
  pthread_join(id, nullptr);
  printf("caught %d\n", caught);
  return 0;
}

#endif
