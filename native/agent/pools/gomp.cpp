// In front of libgomp: every function that opens a parallel region with a work function and its data.
// GCC's older pair GOMP_parallel_start / GOMP_parallel_end (before 4.9) is not covered.
#include "log/loss.h"
#include "pools/region.h"
#include "pools/resolve.h"

namespace {

using Work = void (*)(void*);
using sonde::RealFunction;
using sonde::Region;

}  // namespace

// A caller without any runtime behind it would have failed to load; running the work alone is then valid OpenMP.
#define SONDE_REGION(result_type, name, parameters, ...)                                     \
  extern "C" __attribute__((visibility("default"), noinline)) result_type name parameters {  \
    using Real = result_type(*) parameters;                                                  \
    static constinit RealFunction real_function{#name};                                        \
    const auto real = reinterpret_cast<Real>(real_function.for_caller(__builtin_return_address(0))); \
    if (!real) {                                                                             \
      sonde::count_loss(sonde::Loss::PoolNotFound);                                          \
      work(data);                                                                            \
      return result_type();                                                                  \
    }                                                                                        \
    if (!sonde::region_wanted()) return real(work, data, __VA_ARGS__);                       \
    Region region;                                                                           \
    region.work = work;                                                                      \
    region.data = data;                                                                      \
    sonde::open_region(&region);                                                             \
    SONDE_CAPTURE_REGISTERS(region.owner.registers);                                         \
    SONDE_CALL_##result_type(real(sonde::sonde_region_work, &region, __VA_ARGS__));          \
  }

#define SONDE_CALL_void(call)     \
  call;                           \
  sonde::close_region(region)
#define SONDE_CALL_unsigned(call) \
  const unsigned result = call;   \
  sonde::close_region(region);    \
  return result

#define SONDE_LOOP(name)                                                                                  \
  SONDE_REGION(void, name,                                                                                \
               (Work work, void* data, unsigned threads, long start, long end, long step, long chunk,     \
                unsigned flags),                                                                          \
               threads, start, end, step, chunk, flags)
#define SONDE_LOOP_WITHOUT_CHUNK(name)                                                                    \
  SONDE_REGION(void, name,                                                                                \
               (Work work, void* data, unsigned threads, long start, long end, long step, unsigned flags), \
               threads, start, end, step, flags)

SONDE_REGION(void, GOMP_parallel, (Work work, void* data, unsigned threads, unsigned flags), threads, flags)
SONDE_REGION(unsigned, GOMP_parallel_reductions, (Work work, void* data, unsigned threads, unsigned flags),
             threads, flags)
SONDE_REGION(void, GOMP_parallel_sections,
             (Work work, void* data, unsigned threads, unsigned count, unsigned flags), threads, count, flags)
SONDE_LOOP(GOMP_parallel_loop_static)
SONDE_LOOP(GOMP_parallel_loop_dynamic)
SONDE_LOOP(GOMP_parallel_loop_guided)
SONDE_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
SONDE_LOOP(GOMP_parallel_loop_nonmonotonic_guided)
SONDE_LOOP_WITHOUT_CHUNK(GOMP_parallel_loop_runtime)
SONDE_LOOP_WITHOUT_CHUNK(GOMP_parallel_loop_nonmonotonic_runtime)
SONDE_LOOP_WITHOUT_CHUNK(GOMP_parallel_loop_maybe_nonmonotonic_runtime)
