// The raw log: what the agent appends while the program runs, and what
// libsonde_tools.so decodes afterwards. One file per process: raw/PID.START_NS.slog
//
// Version 2 begins with a Preamble of fixed size, which is overwritten in place: what could not be written (disk full)
// is counted there, in bytes that the file has already. Version 1 has none and begins with its first chunk.
//
// Crash safety: behind it the file is a sequence of chunks, each written at once:
//   u32 magic 'SLG1'   u32 payload bytes   u32 CRC-32C of the payload   u32 chunk number
// A reader stops at the first chunk that is short or fails its check and counts the rest as lost.
//
// Sessions: what one record tells holds for later ones as long as no chunk between them was lost. After a loss the
// writer begins a new session in the same file: a Gap record, a new node epoch, and then everything again that still
// holds (header, threads, mappings, names, codes). A process that forks or goes on after a failed exec begins a new file.
//
// Rings: a log that keeps only the last minutes is a row of files, each with a session of its own. The newest has the
// usual name; those before it are called FILE.1, FILE.2 … in the order of their ends, and the oldest are removed. Their
// chunks, one file after the other, are one log.
//
// The payload is a sequence of records: u8 type, varint payload length, payload. A reader skips types
// that it does not know. Numbers are LEB128 varints (zigzag where signed), text is varint length + bytes.
// Times are CLOCK_MONOTONIC nanoseconds; in Sample and Wait they are zigzag deltas to the
// previous one of the same chunk (the first is a delta to the chunk's Base record).
#pragma once

#include <cstdint>

namespace sonde::log {

constexpr uint32_t kMagic = 0x31474c53;  // "SLG1"
constexpr uint32_t kFormatVersion = 2;

// What was collected and never became part of the file. Little endian, as everything.
struct Lost {
  uint64_t chunks = 0;   // writes that failed
  uint64_t samples = 0;  // Sample records, and the CPU time that they stood for
  uint64_t cpu_ns = 0;
  uint64_t waits = 0;    // Wait records
  uint64_t others = 0;   // losses of other kinds that no Loss record tells
};

struct Preamble {
  uint32_t magic;
  uint32_t bytes;  // of the preamble: chunks begin there
  Lost lost;
  uint32_t unused[3];
  uint32_t checksum;  // CRC-32C of all before it
};
constexpr uint32_t kPreambleMagic = 0x32474c53;  // "SLG2"
static_assert(sizeof(Preamble) == 64);

enum class Record : uint8_t {
  Header = 1,       // format version, pid, parent pid, start ns, zigzag epoch offset ns, rate Hz,
                    // text engine, text python version, text command, origin (ProcessOrigin);
                    // written again when the python version becomes known: the last one counts
  Base = 2,         // time ns, node epoch: first record of every chunk
  ThreadStart = 3,  // thread number, tid, time, text name, kind (ThreadKind), start routine address
  ThreadEnd = 4,    // thread number, time, cpu ns, text name (last known)
  Mapping = 5,      // time, start, end, file offset, text path, text build id (hex)
  Unmapping = 6,    // time, start, end
  Node = 7,         // id, parent id, pc, flags: native stack node; parent is the caller; 0 is above the root
  PythonNode = 8,   // id, parent id, code number, zigzag instruction, entry, self pointer
  Code = 9,         // code number, text qualified name, text file, first line, text line table (raw bytes)
  Sample = 10,      // see SampleFields
  Wait = 11,        // see SampleFields; weight is wall time off the CPU
  JitCode = 12,     // time, start, size, text name, text source (perfmap, jitdump, region)
  Loss = 13,        // text cause, text unit, count since the last Loss of that cause, text detail
  Counter = 14,     // time, text name, value: any reading; the agent's own are Readings
  Block = 15,       // start ns, end ns, on (1) or off (0), CPU ns of the program's threads in it
  Statistics = 16,  // text name, value: the agent's own figures (handler ns, background CPU ns, …)
  Footer = 17,      // end ns, zigzag epoch offset ns, user ns, system ns, max rss bytes, reason (EndReason)
  Module = 18,      // time, pointer of an nn.Module, text path: named by the Python side
  Readings = 19,    // time (delta as in Sample), then zigzag differences to the last Readings of the log: resident
                    // bytes, user and system CPU ns, minor and major faults, voluntary and involuntary switches
  Gap = 20,         // from ns, to ns: a session ended at the first and a new one begins with this record. Mappings that
                    // began before the first time end there unless they are written again
  Part = 21,        // number, time ns, user and system CPU ns that the process had used by then: the log is a ring of
                    // files. Part 0 is the first; the others begin with a Gap of no length and this record
};

// Order of the varints in Sample and Wait.
enum class SampleField : uint8_t {
  Thread,        // thread number
  TimeDelta,     // zigzag
  NativeStack,   // node id of the leaf, 0: none
  PythonStack,   // python node id of the leaf, 0: none (for a worker: the owner's Python stack)
  Owner,         // owner's thread number + 1, 0: none
  OwnerStack,    // node id of the owner's native stack where it opened the region, 0: none
  WeightNs,
  State,         // SampleState
  Reason,        // WaitReason, 0 for on-CPU samples
  WalkEnd,       // WalkEnd of unwind.h, or kWalkResidual; owner's WalkEnd << 4
  Anchor,        // 0 nothing to check, 1 missed, 2 hit
  HandlerTime,   // how long the handler took, in 256 ns; not in a Wait
};

// A sample without a stack: CPU time that the thread used after its last tick (or, when it was too
// short-lived for one, all of it), known from its clock. Keeps the sum of weights equal to the CPU time.
constexpr uint8_t kWalkResidual = 15;

enum class ProcessOrigin : uint8_t { Started = 0, Forked = 1, Executed = 2 };
enum class EndReason : uint8_t { Exit = 0, Exec = 1 };
enum class ThreadKind : uint8_t { Ordinary = 0, Main = 1, Agent = 2, Unknown = 3 };

enum class SampleState : uint8_t { Running = 0, Spinning = 1, Imbalance = 2, Waiting = 3 };
enum class WaitReason : uint8_t {
  None = 0, Lock = 1, Gil = 2, Io = 3, Sleep = 4, Fault = 5, Preempted = 6, Idle = 7, Other = 8
};

}  // namespace sonde::log
