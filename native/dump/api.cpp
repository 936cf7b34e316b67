// What sonde/live/library.py calls. One process at a time, from one thread, which is the tracer of the threads that it stops:
// when that thread ends, the kernel lets go of any that is still held.
#include <errno.h>

#include "libraries.h"
#include "memory.h"
#include "python.h"
#include "python/code_table.h"
#include "stop.h"
#include "thread.h"

#define SONDE_API extern "C" __attribute__((visibility("default")))

using namespace sonde;
using namespace sonde::dump;

namespace {
std::vector<PythonThread> threads;
}

// 0, or an error number.
SONDE_API int sonde_dump_open(int pid) {
  errno = 0;
  if (!open_memory(pid)) return errno ? errno : ESRCH;
  if (!read_libraries(pid)) return ESRCH;
  return mappings().empty() ? EACCES : 0;
}

// The minor version of its Python, 0 for none; *why is set when it cannot be read.
SONDE_API int sonde_dump_python(const char** why) {
  const PythonProcess process = find_python();
  *why = process.why;
  return static_cast<int>(process.minor);
}

// Reads the list of Python's threads again; returns their number.
SONDE_API int sonde_dump_python_threads() {
  forget_changing_memory();
  threads = python_threads();
  return static_cast<int>(threads.size());
}

SONDE_API void sonde_dump_thread(int pid, int tid, ThreadStacks* out) {
  const PythonThread* python = nullptr;
  for (const PythonThread& one : threads) {
    if (one.tid == tid) python = &one;
  }
  read_thread(pid, tid, python, out);
  let_go_of_late_ones();
}

// The mapping that holds the address: its start and the file's offset there. The path, or null: none.
SONDE_API const char* sonde_dump_mapping(uint64_t address, uint64_t* start, uint64_t* offset) {
  const Mapping* one = mapping_at(address);
  if (!one) return nullptr;
  *start = one->low;
  *offset = one->offset;
  return one->path.c_str();
}

SONDE_API int sonde_dump_read(uint64_t address, void* to, size_t bytes) { return read_memory(address, to, bytes); }

SONDE_API int sonde_dump_code(uint32_t number, python::CodeInfo* out) { return python::code_info(number, out); }

SONDE_API void sonde_dump_close() {
  let_go_of_late_ones();
  threads.clear();
  forget_python();
  forget_libraries();
  close_memory();
}
