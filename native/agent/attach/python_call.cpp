#include "attach/python_call.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include <atomic>
#include <cstring>
#include <initializer_list>
#include <new>

#include "common/clock.h"
#include "common/system.h"
#include "python/interpreter.h"
#include "signals/real.h"
#include "threads/create.h"
#include "threads/own.h"

namespace sonde {
namespace {

enum State : uint32_t { kWaiting, kRuns, kOver, kGivenUp };
constexpr size_t kAnswerBytes = 4096;
constexpr int kFileInput = 257;  // Py_file_input
constexpr size_t kStackBytes = 1u << 20;

struct Call {
  std::atomic<uint32_t> state{kWaiting};
  std::atomic<uint32_t> holders{2};
  bool failed = true;
  char answer[kAnswerBytes] = {};
  char code[1];  // as long as it is
};

// Objects of the interpreter are opaque here.
struct Api {
  int (*is_initialized)();
  int (*ensure)();
  void (*release)(int);
  void* (*dict_new)();
  void* (*import)(const char*);
  int (*set_item)(void*, const char*, void*);
  void* (*get_item)(void*, const char*);
  void* (*run)(const char*, int, void*, void*);
  const char* (*utf8)(void*);
  void (*fetch)(void**, void**, void**);
  void* (*text)(void*);
  void (*clear)();
  void (*forget)(void*);  // Py_DecRef

  bool find() {
    void* handle = python_library();
    const auto get = [handle](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      return function != nullptr;
    };
    return get(is_initialized, "Py_IsInitialized") && get(ensure, "PyGILState_Ensure") &&
           get(release, "PyGILState_Release") && get(dict_new, "PyDict_New") && get(import, "PyImport_ImportModule") &&
           get(set_item, "PyDict_SetItemString") && get(get_item, "PyDict_GetItemString") &&
           get(run, "PyRun_String") && get(utf8, "PyUnicode_AsUTF8") && get(fetch, "PyErr_Fetch") &&
           get(text, "PyObject_Str") && get(clear, "PyErr_Clear") && get(forget, "Py_DecRef");
  }
};

void give_back(Call* call) {
  if (call->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) free(call);
}

void keep_text(const Api& api, void* object, Call* call) {
  const char* text = object ? api.utf8(object) : nullptr;
  if (text) std::strncpy(call->answer, text, kAnswerBytes - 1);
}

void run_code(const Api& api, Call* call) {
  void* globals = api.dict_new();
  void* builtins = globals ? api.import("builtins") : nullptr;
  if (builtins && api.set_item(globals, "__builtins__", builtins) == 0) {
    void* result = api.run(call->code, kFileInput, globals, globals);
    call->failed = result == nullptr;
    if (result) {
      keep_text(api, api.get_item(globals, "answer"), call);
      api.forget(result);
    } else {
      void *kind = nullptr, *value = nullptr, *trace = nullptr;
      api.fetch(&kind, &value, &trace);
      void* text = api.text(value ? value : kind);
      keep_text(api, text, call);
      for (void* one : {text, kind, value, trace}) {
        if (one) api.forget(one);
      }
    }
  }
  api.clear();
  if (builtins) api.forget(builtins);
  if (globals) api.forget(globals);
}

void* run_thread(void* argument) {
  auto* call = static_cast<Call*>(argument);
  prctl(PR_SET_NAME, "sonde-python");
  note_own_thread();
  Api api;
  if (api.find() && api.is_initialized()) {
    const int before = api.ensure();
    uint32_t expected = kWaiting;
    if (call->state.compare_exchange_strong(expected, kRuns)) run_code(api, call);
    api.release(before);
  }
  call->state.store(kOver, std::memory_order_release);
  futex_wake(&call->state);
  forget_own_thread();
  give_back(call);
  return nullptr;
}

bool start(Call* call) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const int error = real_pthread_create(&thread, &attributes, run_thread, call);
  pthread_attr_destroy(&attributes);
  return error == 0;
}

}  // namespace

PythonAnswer call_python(const char* code, size_t size, uint32_t limit_ms, char* out, size_t capacity) {
  out[0] = 0;
  if (!python_library()) return PythonAnswer::NoInterpreter;
  void* memory = calloc(1, sizeof(Call) + size + 1);
  if (!memory) return PythonAnswer::Failed;
  auto* call = new (memory) Call;
  std::memcpy(call->code, code, size);
  if (!start(call)) {
    free(memory);
    return PythonAnswer::Failed;
  }
  const uint64_t end_ns = mono_ns() + uint64_t{limit_ms} * 1'000'000;
  PythonAnswer answer = PythonAnswer::TooLong;
  for (;;) {
    const uint32_t state = call->state.load(std::memory_order_acquire);
    const uint64_t now_ns = mono_ns();
    if (state == kOver) {
      answer = call->failed ? PythonAnswer::Failed : PythonAnswer::Said;
      std::strncpy(out, call->answer, capacity - 1);
      out[capacity - 1] = 0;
      break;
    }
    if (now_ns >= end_ns) {
      uint32_t expected = kWaiting;
      call->state.compare_exchange_strong(expected, kGivenUp);
      break;
    }
    futex_wait(&call->state, state, end_ns - now_ns);
  }
  give_back(call);
  return answer;
}

}  // namespace sonde
