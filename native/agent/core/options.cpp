#include "core/options.h"

#include <stdlib.h>

#include <cstring>

namespace sonde {
namespace {
using Look = const char* (*)(const char* name);

const char* in_environment(const char* name) { return getenv(name); }

constinit char given[8192] = {};  // NAME=VALUE, each ended by a zero byte; the last by two

const char* in_request(const char* name) {
  const size_t size = std::strlen(name);
  for (const char* at = given; *at; at += std::strlen(at) + 1) {
    if (!std::strncmp(at, name, size) && at[size] == '=') return at + size + 1;
  }
  return nullptr;
}

uint64_t number_of(Look look, const char* name, uint64_t otherwise) {
  const char* text = look(name);
  if (!text || !*text) return otherwise;
  char* end = nullptr;
  unsigned long long value = strtoull(text, &end, 10);
  return *end ? otherwise : value;
}
bool read(Look look, Options* out) {
  const char* folder = look("SONDE_AGENT_FOLDER");
  if (!folder || folder[0] != '/' || std::strlen(folder) >= sizeof out->folder) return false;
  std::strcpy(out->folder, folder);
  uint64_t rate = number_of(look, "SONDE_AGENT_RATE", out->rate_hz);
  out->rate_hz = static_cast<uint32_t>(rate < kMinRateHz ? kMinRateHz : rate > kMaxRateHz ? kMaxRateHz : rate);
  out->full_rate_threads =
      static_cast<uint32_t>(number_of(look, "SONDE_AGENT_FULL_RATE_THREADS", out->full_rate_threads) & 0xffff);
  const char* engine = look("SONDE_AGENT_ENGINE");
  if (engine && !std::strcmp(engine, "timer+kernel")) out->engine = EngineChoice::TimerKernel;
  if (engine && !std::strcmp(engine, "perf+kernel")) out->engine = EngineChoice::PerfKernel;
  if (engine && !std::strcmp(engine, "perf+timer")) out->engine = EngineChoice::PerfTimer;
  if (engine && !std::strcmp(engine, "timer")) out->engine = EngineChoice::Timer;
  out->waits = number_of(look, "SONDE_AGENT_WAITS", 1) != 0;
  out->blocks = number_of(look, "SONDE_AGENT_BLOCKS", 0) != 0;
  const uint64_t ring_s = number_of(look, "SONDE_AGENT_RING_S", 0);
  out->ring_ns = (ring_s < kMaxRingS ? ring_s : kMaxRingS) * 1'000'000'000;
  out->ring_bytes = number_of(look, "SONDE_AGENT_RING_BYTES", kRingBytes);
  out->launcher = static_cast<int>(number_of(look, "SONDE_AGENT_LAUNCHER", 0));
  return true;
}

}  // namespace

bool read_options(Options* out) { return read(in_environment, out); }

bool read_options(const char* request, Options* out) {
  if (std::strlen(request) + 2 > sizeof given) return false;
  std::memset(given, 0, sizeof given);
  std::strcpy(given, request);
  for (char* at = given; *at; at++) {
    if (*at == '\n') *at = 0;
  }
  *out = Options{};
  return read(in_request, out);
}

}  // namespace sonde
