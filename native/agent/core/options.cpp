#include "core/options.h"

#include <stdlib.h>

#include <cstring>

namespace sonde {
namespace {
uint64_t number_of(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  if (!text || !*text) return otherwise;
  char* end = nullptr;
  unsigned long long value = strtoull(text, &end, 10);
  return *end ? otherwise : value;
}
}  // namespace

bool read_options(Options* out) {
  const char* folder = getenv("SONDE_AGENT_FOLDER");
  if (!folder || folder[0] != '/' || std::strlen(folder) >= sizeof out->folder) return false;
  std::strcpy(out->folder, folder);
  uint64_t rate = number_of("SONDE_AGENT_RATE", out->rate_hz);
  out->rate_hz = static_cast<uint32_t>(rate < kMinRateHz ? kMinRateHz : rate > kMaxRateHz ? kMaxRateHz : rate);
  out->full_rate_threads =
      static_cast<uint32_t>(number_of("SONDE_AGENT_FULL_RATE_THREADS", out->full_rate_threads) & 0xffff);
  const char* engine = getenv("SONDE_AGENT_ENGINE");
  if (engine && !std::strcmp(engine, "timer+kernel")) out->engine = EngineChoice::TimerKernel;
  if (engine && !std::strcmp(engine, "perf+kernel")) out->engine = EngineChoice::PerfKernel;
  if (engine && !std::strcmp(engine, "perf+timer")) out->engine = EngineChoice::PerfTimer;
  if (engine && !std::strcmp(engine, "timer")) out->engine = EngineChoice::Timer;
  out->waits = number_of("SONDE_AGENT_WAITS", 1) != 0;
  out->blocks = number_of("SONDE_AGENT_BLOCKS", 0) != 0;
  out->launcher = static_cast<int>(number_of("SONDE_AGENT_LAUNCHER", 0));
  return true;
}

}  // namespace sonde
