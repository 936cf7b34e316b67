// The trace reader under a fuzzer: any bytes in, no crash, no leak, bounded memory out.
// libFuzzer calls LLVMFuzzerTestOneInput; standalone.cpp does where there is no clang.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/nest.h"
#include "trace/trace.h"

using sonde::trace::Trace;

extern "C" {
int sonde_trace_read_memory(const char* data, std::size_t size, const std::uint64_t* limits, Trace** out,
                            char* error, std::size_t error_size);
void sonde_trace_free(Trace* trace);
void sonde_trace_fill(Trace* trace, int family, const std::int32_t* slot, const std::int32_t* kinds,
                      void* const* outputs);
void sonde_trace_compose(Trace* trace, int family, const std::uint8_t* wanted, std::int32_t* out);
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t kLimits[4] = {1 << 20, 1 << 20, 1000, 250};
  Trace* trace = nullptr;
  char error[256];
  if (sonde_trace_read_memory(reinterpret_cast<const char*>(data), size, kLimits, &trace, error,
                              sizeof error) != 0) {
    return 0;
  }
  // What Python does next: take arguments out, compose JSON, nest the calls.
  const std::size_t keys = trace->keys.size() + 1;
  for (int family = 0; family < sonde::trace::kFamilies; ++family) {
    const auto& store = trace->stores[family];
    const std::size_t rows = store.track.size();
    std::vector<std::int32_t> slot(keys, 0);
    for (int kind = 0; kind < 3; ++kind) {
      const std::int32_t kinds[1] = {kind};
      std::vector<double> output(rows + 1);
      void* outputs[1] = {output.data()};
      sonde_trace_fill(trace, family, slot.data(), kinds, outputs);
    }
    std::vector<std::uint8_t> wanted(keys, 1);
    std::vector<std::int32_t> composed(rows + 1);
    sonde_trace_compose(trace, family, wanted.data(), composed.data());
    std::vector<std::int64_t> order(rows + 1);
    std::vector<std::int64_t> parent(rows + 1);
    sonde::trace::nest(static_cast<std::int64_t>(rows), store.track.data(), store.start_ns.data(),
                       store.duration_ns.data(), order.data(), parent.data());
  }
  sonde_trace_free(trace);
  return 0;
}
