// Finding the interpreter: by its exported symbols, in a program that is Python itself (static) or
// that has loaded libpython.
#include "python/interpreter.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "python/code_table.h"
#include "python/eval_ranges.h"
#include "python/frames.h"

namespace sonde {
namespace python {
namespace {

Interpreter found;
std::atomic<const Interpreter*> published{nullptr};
const char* refused = nullptr;  // why an interpreter that is there cannot be read
char seen_version[32] = "";

// libpython may have been loaded with RTLD_LOCAL (embedding): look in every library by name.
struct Library {
  const char* path = nullptr;
};

int note_libpython(dl_phdr_info* info, size_t, void* out) {
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* name = slash ? slash + 1 : info->dlpi_name;
  if (strncmp(name, "libpython3.", 11) != 0) return 0;
  static_cast<Library*>(out)->path = info->dlpi_name;
  return 1;
}

// RTLD_DEFAULT, or the handle of a libpython that is hidden from it. False when there is neither.
bool library_handle(void** handle) {
  *handle = RTLD_DEFAULT;
  if (dlsym(RTLD_DEFAULT, "Py_GetVersion") != nullptr) return true;
  Library library;
  dl_iterate_phdr(note_libpython, &library);
  // The handle is kept for good: libpython cannot be unloaded in a meaningful way either.
  *handle = library.path ? dlopen(library.path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  return *handle != nullptr && dlsym(*handle, "Py_GetVersion") != nullptr;
}

void copy_version(const char* text) {
  size_t n = 0;
  while (text[n] != 0 && text[n] != ' ' && n < sizeof seen_version - 1) ++n;
  memcpy(seen_version, text, n);
  seen_version[n] = 0;
}

bool choose_layout(void* handle, const char** why) {
  char* rest = nullptr;
  const auto major = static_cast<unsigned>(strtoul(seen_version, &rest, 10));
  const auto minor = *rest == '.' ? static_cast<unsigned>(strtoul(rest + 1, nullptr, 10)) : 0;
  if (const Layout* known = table_layout(major, minor)) {
    found.layout = *known;
    return true;
  }
  const void* runtime = dlsym(handle, "_PyRuntime");
  if (major != 3 || minor < 13 || runtime == nullptr) {
    *why = "this version of Python is not known: no Python frames";
    return false;
  }
  return debug_offsets_layout(runtime, minor, &found.layout, why);
}

}  // namespace

const Interpreter* interpreter() { return published.load(std::memory_order_acquire); }

}  // namespace python

using namespace python;

bool python_attach(const char** why) {
  if (interpreter() != nullptr) return true;
  *why = refused;
  if (refused != nullptr) return false;
  void* handle = nullptr;
  if (!library_handle(&handle)) return true;  // no interpreter (yet): nothing is wrong
  // Py_GetVersion formats into a static buffer the same text each time: safe before Py_Initialize.
  copy_version(reinterpret_cast<const char* (*)()>(dlsym(handle, "Py_GetVersion"))());
  memcpy(found.version, seen_version, sizeof found.version);
  found.this_thread_state =
      reinterpret_cast<void* (*)()>(dlsym(handle, "PyGILState_GetThisThreadState"));
  found.code_type = reinterpret_cast<uint64_t>(dlsym(handle, "PyCode_Type"));
  found.cell_type = reinterpret_cast<uint64_t>(dlsym(handle, "PyCell_Type"));
  void* eval = dlsym(handle, "_PyEval_EvalFrameDefault");
  if (!choose_layout(handle, &refused)) {
  } else if (found.this_thread_state == nullptr || found.code_type == 0 || eval == nullptr) {
    refused = "the interpreter does not export what is needed to read it: no Python frames";
  } else if (!code_table_create()) {
    refused = "no memory for the table of code objects: no Python frames";
  }
  if (refused != nullptr) {
    *why = refused;
    return false;
  }
  found.eval_ranges = find_eval_ranges(eval, found.eval, kMaxEvalRanges);
  // Binds lazily bound calls inside now, so that no handler is the first to go through them.
  found.this_thread_state();
  published.store(&found, std::memory_order_release);
  return true;
}

void* python_library() {
  void* handle = nullptr;
  if (!library_handle(&handle)) return nullptr;
  // RTLD_DEFAULT is null, too.
  return handle == RTLD_DEFAULT ? dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD) : handle;
}

const char* python_refusal() { return refused; }

const char* python_version() { return seen_version; }

bool python_is_eval(uint64_t pc) {
  const Interpreter* python = interpreter();
  if (python == nullptr) return false;
  for (unsigned i = 0; i < python->eval_ranges; ++i) {
    if (pc >= python->eval[i].begin && pc < python->eval[i].end) return true;
  }
  return false;
}

}  // namespace sonde
