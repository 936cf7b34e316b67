#include "python.h"

#include <cstdlib>
#include <cstring>

#include "libraries.h"
#include "memory.h"
#include "python/code_table.h"
#include "python/frames.h"
#include "python/interpreter.h"

namespace sonde::dump {
namespace {

using python::Interpreter;
using python::kAbsent;

constexpr unsigned kMostThreads = 65536, kRuntimeWords = 128;
constexpr int kTidInPthread = 720;  // of glibc's struct pthread: only Python 3.10 does not tell the number itself

// Where the lists of interpreters and threads, and the lock, lie. Offsets in bytes.
struct Lists {
  int interpreters;               // runtime → first interpreter
  int threads;                    // interpreter → its newest thread
  int next, thread_id, native_id;  // of a thread; native_id is kAbsent in 3.10
  int gil_in_runtime;             // runtime → the lock, kAbsent: see the next
  int gil_pointer;                // interpreter → pointer to the lock
  int last_holder, locked;        // of the lock
};

constexpr Lists k310 = {32, 8, 8, 176, kAbsent, 352, kAbsent, 8, 16};
constexpr Lists k311 = {40, 16, 8, 152, 160, 360, kAbsent, 8, 16};
constexpr Lists k312 = {40, 72, 8, 136, 144, kAbsent, 384, 8, 16};

Interpreter interpreter_found;
bool readable = false;
uint64_t runtime = 0;
Lists lists{};

uint64_t word(uint64_t base, int offset) {
  uint64_t value = 0;
  return read_memory(base + static_cast<uint64_t>(int64_t{offset}), &value, 8) ? value : 0;
}

// "libpython3.11.so.1.0", "python3.11" -> 11. Where the interpreter itself tells (3.11 on), that counts.
unsigned minor_version(const Library& library) {
  uint64_t size;
  if (const uint64_t at = find_symbol(library, "Py_Version", &size)) return word(at, 0) >> 16 & 0xff;
  const size_t at = library.path.rfind("python3.");
  return at == std::string::npos ? 0 : static_cast<unsigned>(std::strtoul(library.path.c_str() + at + 8, nullptr, 10));
}

// From the words of `_Py_DebugOffsets`; layout_debug_offsets.cpp has checked them.
Lists lists_of(const uint64_t* words, unsigned minor) {
  const bool newer = minor >= 14;
  const auto at = [&](unsigned number) { return static_cast<int>(words[number]); };
  const unsigned gil = newer ? 16 : 15, thread = newer ? 22 : 19;
  Lists out{};
  out.interpreters = at(5);
  out.threads = at(9);
  out.gil_in_runtime = kAbsent;
  out.gil_pointer = kAbsent;  // the lock lies in the interpreter itself
  out.locked = at(gil + 2);
  out.last_holder = at(gil + 3);
  out.next = at(thread + 2);
  out.thread_id = at(thread + 5);
  out.native_id = at(thread + 6);
  return out;
}

bool choose_layout(unsigned minor, const char** why) {
  if (const python::Layout* known = python::table_layout(3, minor)) {
    interpreter_found.layout = *known;
    lists = minor == 10 ? k310 : minor == 11 ? k311 : k312;
    return true;
  }
  uint64_t words[kRuntimeWords] = {};
  if (!read_memory(runtime, words, sizeof words)) {
    *why = "the interpreter's state cannot be read: no Python frames";
    return false;
  }
  if (!python::debug_offsets_layout(words, minor, &interpreter_found.layout, why)) return false;
  lists = lists_of(words, minor);
  return true;
}

uint64_t gil_holder(uint64_t interpreter) {
  uint64_t gil = interpreter;
  if (lists.gil_in_runtime != kAbsent) gil = runtime + static_cast<uint64_t>(lists.gil_in_runtime);
  else if (lists.gil_pointer != kAbsent) gil = word(interpreter, lists.gil_pointer);
  int32_t locked = 0;
  if (!read_memory(gil + static_cast<uint64_t>(lists.locked), &locked, 4) || locked != 1) return 0;
  return word(gil, lists.last_holder);
}

int tid_of(uint64_t state) {
  int32_t tid = 0;
  if (lists.native_id != kAbsent) return static_cast<int>(word(state, lists.native_id));
  return read_memory(word(state, lists.thread_id) + kTidInPthread, &tid, 4) ? tid : 0;
}

}  // namespace

PythonProcess find_python() {
  PythonProcess process;
  forget_python();
  for (const Library& library : libraries()) {
    uint64_t size = 0;
    runtime = find_symbol(library, "_PyRuntime", &size);
    if (!runtime) continue;
    process.minor = minor_version(library);
    interpreter_found.code_type = find_symbol(library, "PyCode_Type", &size);
    interpreter_found.cell_type = find_symbol(library, "PyCell_Type", &size);
    const uint64_t eval = find_symbol(library, "_PyEval_EvalFrameDefault", &size);
    interpreter_found.eval[0] = {eval, eval + size};
    interpreter_found.eval_ranges = 1;
    if (!choose_layout(process.minor, &process.why)) return process;
    if (!interpreter_found.code_type || !eval || !python::code_table_create()) {
      process.why = "the interpreter does not export what is needed to read it: no Python frames";
      return process;
    }
    readable = true;
    process.gil_known = true;
    return process;
  }
  return process;
}

void forget_python() {
  readable = false;
  runtime = 0;
  interpreter_found = Interpreter{};
}

std::vector<PythonThread> python_threads() {
  std::vector<PythonThread> out;
  if (!readable) return out;
  const uint64_t interpreter = word(runtime, lists.interpreters);
  if (!interpreter) return out;
  const uint64_t holder = gil_holder(interpreter);
  for (uint64_t state = word(interpreter, lists.threads); state && out.size() < kMostThreads;
       state = word(state, lists.next)) {
    out.push_back({state, tid_of(state), state == holder});
  }
  return out;
}

}  // namespace sonde::dump

namespace sonde {

const python::Interpreter* python::interpreter() { return dump::readable ? &dump::interpreter_found : nullptr; }

bool python_is_eval(uint64_t pc) {
  const auto& range = dump::interpreter_found.eval[0];
  return dump::readable && pc >= range.begin && pc < range.end;
}

}  // namespace sonde
