#include "pools/inter_op.h"

#include <stdlib.h>

#include <cstddef>
#include <cstring>

#include "log/loss.h"
#include "pools/region.h"
#include "pools/resolve.h"
#include "pools/restores.h"

namespace sonde {
namespace {

// std::function<void()> of libstdc++, whose layout has not changed since C++11: what it holds may be moved by
// copying its bytes (only trivially copyable things are held inside, all others by pointer).
struct Function {
  void* storage[2];
  bool (*manager)(Function* to, const Function* from, int operation);
  void (*invoker)(const Function*);
};
enum ManagerOperation { kTypeInfo = 0, kPointer = 1, kClone = 2, kDestroy = 3 };

struct Task {
  Function inner;
  Origin origin;  // last: only the words in use are allocated
};

thread_local const void* t_task __attribute__((tls_model("initial-exec"))) = nullptr;

Task* new_task(const Origin& origin) {
  const size_t bytes = offsetof(Task, origin) + origin.size_bytes();
  auto* task = static_cast<Task*>(malloc(bytes));
  if (task) std::memcpy(static_cast<void*>(&task->origin), &origin, origin.size_bytes());
  return task;
}

// An exception of the task passes through.
__attribute__((noinline)) void run_task(const Function* function) {
  const auto* task = static_cast<const Task*>(function->storage[0]);
  SONDE_RESTORES_WHEN_UNWOUND;
  Restores afterwards(&t_task, t_task);
  t_task = task;
  task->inner.invoker(&task->inner);
}

void free_task(Task* task) {
  if (t_task == task) t_task = nullptr;
  if (task->inner.manager) task->inner.manager(&task->inner, &task->inner, kDestroy);
  free(task);
}

bool manage_task(Function* to, const Function* from, int operation) {
  switch (operation) {
    case kClone: {
      const auto* original = static_cast<const Task*>(from->storage[0]);
      Task* copy = new_task(original->origin);
      if (!copy) abort();  // as operator new would end, this library knows no exceptions
      copy->inner = original->inner;
      original->inner.manager(&copy->inner, &original->inner, kClone);
      to->storage[0] = copy;
      return false;
    }
    case kDestroy: free_task(static_cast<Task*>(to->storage[0])); return false;
    case kPointer: to->storage[0] = const_cast<Function*>(from)->storage[0]; return false;
    default: to->storage[0] = nullptr; return false;  // no type information
  }
}

void wrap(Function* function, const Registers& registers) {
  if (!function->manager || !function->invoker) return;
  Origin origin;
  if (!capture_origin(registers, &origin)) return;
  Task* task = new_task(origin);
  if (!task) return;
  task->inner = *function;
  *function = {{task, nullptr}, manage_task, run_task};
}

}  // namespace

const Origin* inter_op_origin() {
  const auto* task = static_cast<const Task*>(t_task);
  return task ? &task->origin : nullptr;
}

}  // namespace sonde

// Virtual, but the tables of virtual functions refer to it by name: the loader puts ours in.
#define SONDE_POOL_RUN "_ZN3c1010ThreadPool3runESt8functionIFvvEE"
extern "C" __attribute__((visibility("default"), noinline)) void sonde_pool_run(void* pool, sonde::Function* task)
    asm(SONDE_POOL_RUN);
extern "C" void sonde_pool_run(void* pool, sonde::Function* task) {
  using namespace sonde;
  using Run = void (*)(void*, Function*);
  static constinit RealFunction real_function{SONDE_POOL_RUN};
  const auto real = reinterpret_cast<Run>(real_function.for_caller(__builtin_return_address(0)));
  if (!real) {  // a pool of size nothing: the task is run by who asked for it
    count_loss(Loss::PoolNotFound);
    if (task->invoker) task->invoker(task);
    return;
  }
  if (region_wanted()) {
    Registers registers;
    SONDE_CAPTURE_REGISTERS(registers);
    wrap(task, registers);
  }
  real(pool, task);
}
