// How the agent was asked to work: environment variables set by sonde/record/outside/launch.py.
// All defaults with their units are here.
#pragma once

#include <cstdint>

namespace sonde {

enum class EngineChoice : uint8_t { Auto, TimerKernel, PerfKernel, PerfTimer, Timer };

struct Options {
  char folder[400] = {};            // SONDE_AGENT_FOLDER: the recording; logs go to folder/raw
  uint32_t rate_hz = 100;           // SONDE_AGENT_RATE: samples per second of CPU time and thread
  uint32_t full_rate_threads = 4;   // SONDE_AGENT_FULL_RATE_THREADS: more busy ones share their ticks; 0: never
  EngineChoice engine = EngineChoice::Auto;  // SONDE_AGENT_ENGINE: auto or a name of engine/engine.h
  bool waits = true;                // SONDE_AGENT_WAITS=0: no off-CPU snapshots
  bool blocks = false;              // SONDE_AGENT_BLOCKS=1: random on/off blocks, to measure overhead
  uint64_t ring_ns = 0;             // SONDE_AGENT_RING_S: keep only the last so many seconds of the log; 0: all of it
  uint64_t ring_bytes = 0;          // SONDE_AGENT_RING_BYTES: disk that the files of one process may take then
  int launcher = 0;                 // SONDE_AGENT_LAUNCHER: pid of `sonde run`; its child is always followed
};

constexpr uint32_t kMinRateHz = 1, kMaxRateHz = 4'000;  // a tick costs up to 60 us in a virtual machine
// The background thread's passes: a pass costs the same whether there is much to do or little, so they are rare
// (background/pace.h). A kill -9 loses at most about kCalmPassNs.
constexpr uint64_t kBusyPassNs = 100'000'000;        // while threads wait, libraries come or code is generated
constexpr uint64_t kCalmPassNs = 450'000'000;        // while threads only compute; with a tick and the write: half a second
constexpr uint64_t kRefreshEveryNs = 250'000'000;
constexpr uint64_t kCountersEveryNs = 500'000'000;
constexpr uint64_t kNamesEveryNs = 2'000'000'000;
constexpr uint64_t kSettleNs = 50'000'000;           // a child that lives shorter leaves no log
constexpr uint64_t kMaxRingS = 86'400, kRingBytes = 64u << 20;
// A ring is so many parts, and the one being written; of its bytes the log may take this share, events the rest.
constexpr uint32_t kRingParts = 8;
constexpr uint64_t kLogShareOf8 = 5, kEventShareOf8 = 1;
constexpr uint32_t kMaxThreads = 4096;
constexpr uint32_t kMaxNativeFrames = 1024;
constexpr uint32_t kMaxPythonFrames = 512;
constexpr uint32_t kMaxKernelFrames = 64;

// Not async-signal-safe. False: the agent was not asked for.
bool read_options(Options* out);
// The same from lines NAME=VALUE: what `sonde attach` sends.
bool read_options(const char* request, Options* out);

}  // namespace sonde
