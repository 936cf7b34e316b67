// The trace reader under a fuzzer: any bytes in, no crash, no leak, bounded memory out.
// libFuzzer calls LLVMFuzzerTestOneInput; standalone.cpp does where there is no clang.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "trace/document.h"
#include "trace/nest.h"
#include "trace/trace.h"

using sonde::trace::Trace;

extern "C" {
void sonde_trace_fill(Trace* trace, int family, const std::int32_t* slot, const std::int32_t* kinds,
                      void* const* outputs);
void sonde_trace_compose(Trace* trace, int family, const std::uint8_t* wanted, std::int32_t* out);
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
}

namespace {

// Inputs of odd size are inflated on a thread of their own, as large files are.
std::unique_ptr<Trace> read(const std::uint8_t* data, std::size_t size) {
  sonde::trace::Limits limits;
  limits.value_bytes = limits.metadata_bytes = 1 << 20;
  limits.metadata_entries = 1000;
  auto trace = std::make_unique<Trace>(1);
  try {
    sonde::trace::Source source(reinterpret_cast<const char*>(data), size, limits.inflate_ratio, size % 2 != 0);
    sonde::trace::DocumentReader(&source, trace.get(), limits).read();
  } catch (const sonde::trace::InputFailure&) {
    return nullptr;
  }
  return trace;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::unique_ptr<Trace> owned = read(data, size);
  Trace* trace = owned.get();
  if (trace == nullptr) return 0;
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
  return 0;
}
