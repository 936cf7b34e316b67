// In front of libomp and libiomp5: __kmpc_fork_call, through which Clang's and Intel's code opens regions.
#include <alloca.h>
#include <stdarg.h>

#include "log/loss.h"
#include "pools/region.h"
#include "pools/resolve.h"

namespace {

using Microtask = void (*)();
using ForkCall = void (*)(void* location, int count, Microtask microtask, ...);

}  // namespace

extern "C" __attribute__((visibility("default"), noinline)) void __kmpc_fork_call(void* location, int count,
                                                                                  Microtask microtask, ...) {
  using namespace sonde;
  static constinit RealFunction real_function{"__kmpc_fork_call"};
  const auto real = reinterpret_cast<ForkCall>(real_function.for_caller(__builtin_return_address(0)));
  // At least four: sonde_call_microtask always loads that many into registers.
  auto** arguments = static_cast<void**>(alloca(sizeof(void*) * static_cast<unsigned>(count < 4 ? 4 : count)));
  va_list list;
  va_start(list, microtask);
  for (int i = 0; i < count; ++i) arguments[i] = va_arg(list, void*);
  va_end(list);
  if (!real) {  // no runtime to be found: a team of one is valid OpenMP
    count_loss(Loss::PoolNotFound);
    int thread = 0, bound = 0;
    sonde_call_microtask(microtask, &thread, &bound, count, arguments);
    return;
  }
  Region region;
  region.microtask = microtask;
  region.argument_count = count;
  region.arguments = arguments;
  // A thread that the agent does not know still needs its arguments carried across: there is no
  // other way to pass on a variable number of them. Its region has no owner to speak of.
  open_region(&region);
  SONDE_CAPTURE_REGISTERS(region.owner.registers);
  real(location, 1, reinterpret_cast<Microtask>(sonde_region_microtask), static_cast<void*>(&region));
  close_region(region);
}
