// In front of a C++ function of libtorch, called by name through the loader or through a table of virtual functions, whose
// entries refer to it by name as well.
#pragma once

#include <atomic>

#include "pools/resolve.h"
#include "pools/restores.h"

namespace sonde {

// What such functions return (a tensor, a tuple of them): a class with a destructor, so it comes back in memory that the
// caller gives, whatever its size. Only its address passes through here.
struct Returned {
  Returned(const Returned&) = delete;
  ~Returned();
  void* unknown;
};

// The function behind ours; looked for once, since a process has one torch.
template <typename Function>
Function real_one(std::atomic<Function>& known, RealFunction& real, void* return_address) {
  Function found = known.load(std::memory_order_relaxed);
  if (!found) {
    found = reinterpret_cast<Function>(real.must_find(return_address));
    known.store(found, std::memory_order_relaxed);
  }
  return found;
}

}  // namespace sonde

// Defines `function` under the name `symbol` (by label, not extern "C": clang refuses C linkage with a C++ class as result). `SCOPE(inside, self)` lives as long as the call does, where `inside` says that
// a call of the same `GROUP` is under way on this thread.
#define SONDE_IN_FRONT_OF(function, symbol, result, parameters, arguments, GROUP, SCOPE)                       \
  __attribute__((visibility("default"), noinline)) result function parameters asm(symbol);                     \
  result function parameters {                                                                                 \
    using Real = result(*) parameters;                                                                         \
    static constinit sonde::RealFunction real_function{symbol};                                                \
    static constinit std::atomic<Real> known{nullptr};                                                         \
    const Real real = sonde::real_one<Real>(known, real_function, __builtin_return_address(0));                \
    SONDE_RESTORES_WHEN_UNWOUND;                                                                               \
    sonde::Restores afterwards(&GROUP, GROUP);                                                                 \
    const SCOPE;                                                                                               \
    GROUP = self;                                                                                              \
    return real arguments;                                                                                     \
  }
