// Call chains of every awkward kind. The test stops in them at random instructions and compares the walk with
// gdb's own. Built without debug information (no inlined frames), at several levels, by GCC and Clang.
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <functional>
#include <stdexcept>

#define NOINLINE __attribute__((noinline, noclone))
#if defined(__clang__)
#undef NOINLINE
#define NOINLINE __attribute__((noinline))
#endif

extern "C" {
volatile long g_sink = 0;
volatile int g_depth = 6;
void torture_begin();   // the test starts stepping here
void torture_end();     // and stops here
void cfi_escape(void (*next)());
void cfi_framed(void (*next)());
void nocfi_leaf();
void nocfi_pushes(void (*next)());
void nocfi_saves(void (*next)());
void nocfi_evex(void (*next)());
void nocfi_aligned(void (*next)());
void nocfi_inner_aligned();
void nocfi_barrier();
}

NOINLINE void leaf_work() {
  char text[64];
  snprintf(text, sizeof text, "%ld %s", static_cast<long>(g_sink), "leaf");
  g_sink = g_sink + static_cast<long>(strlen(text));
  void* block = malloc(100);
  memset(block, 1, 100);
  free(block);
}

NOINLINE void recursive(int depth) {
  if (depth == 0) {
    leaf_work();
  } else {
    recursive(depth - 1);
  }
  g_sink = g_sink + 1;
}

NOINLINE void huge_frame() {
  volatile char room[300000];
  room[0] = 1;
  room[sizeof room - 1] = 2;
  recursive(2);
  g_sink = g_sink + room[0];
}

NOINLINE void with_alloca(int bytes) {
  char* room = static_cast<char*>(alloca(static_cast<size_t>(bytes)));
  memset(room, 3, static_cast<size_t>(bytes));
  leaf_work();
  g_sink = g_sink + room[bytes / 2];
}

// A realigned frame with a variable part: the CFA comes from a saved pointer (DRAP).
NOINLINE void realigned(int bytes) {
  alignas(64) volatile float wide[32];
  volatile char* room = static_cast<volatile char*>(alloca(static_cast<size_t>(bytes)));
  for (int i = 0; i < 32; ++i) wide[i] = static_cast<float>(i);
  room[0] = 1;
  with_alloca(bytes + 100);
  g_sink = g_sink + static_cast<long>(wide[7]) + room[0];
}

NOINLINE int tail_target(int x) {
  leaf_work();
  return x + 1;
}
NOINLINE int tail_caller(int x) { return tail_target(x * 2); }

NOINLINE long variadic(int count, ...) {
  va_list list;
  va_start(list, count);
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += va_arg(list, double);
  va_end(list);
  leaf_work();
  return static_cast<long>(sum);
}

struct Base {
  virtual ~Base() = default;
  virtual void act(int n) = 0;
};
struct Derived : Base {
  NOINLINE void act(int n) override {
    if (n) act(n - 1); else leaf_work();
    g_sink = g_sink + n;
  }
};

struct Cleaner {
  ~Cleaner() { leaf_work(); }
};
NOINLINE void throws(int depth) {
  Cleaner cleaner;
  if (depth == 0) throw std::runtime_error("expected");
  throws(depth - 1);
  g_sink = g_sink + 1;
}
NOINLINE void catches() {
  try {
    throws(2);
  } catch (const std::exception& e) {
    g_sink = g_sink + e.what()[0];
    leaf_work();
  }
}

int compare(const void* a, const void* b) {
  leaf_work();
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}
NOINLINE void sorts() {
  int values[] = {5, 3, 9, 1};
  qsort(values, 4, sizeof(int), compare);
  g_sink = g_sink + values[0];
}

void on_signal(int) { recursive(2); }
NOINLINE void signals() {
  raise(SIGUSR1);
  g_sink = g_sink + 1;
}
NOINLINE void signals_on_other_stack() {
  raise(SIGUSR2);
  g_sink = g_sink + 1;
}

jmp_buf g_jump;
// The call is the function's last instruction: the return address belongs to the next function.
[[noreturn]] NOINLINE void never_returns(int x) {
  g_sink = g_sink + x;
  leaf_work();
  longjmp(g_jump, 1);
}
NOINLINE void ends_in_a_call(int x) {
  g_sink = g_sink + 1;
  never_returns(x);
}
NOINLINE void jumps() {
  if (setjmp(g_jump) == 0) ends_in_a_call(3);
  g_sink = g_sink + 1;
}

NOINLINE void plugin(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (!library) abort();
  auto enter = reinterpret_cast<void (*)(void (*)())>(dlsym(library, "plugin_enter"));
  enter(leaf_work);
  dlclose(library);
}

NOINLINE void assembly() {
  cfi_framed(leaf_work);
  cfi_escape(leaf_work);
  nocfi_leaf();
  nocfi_pushes(leaf_work);
  nocfi_saves(leaf_work);
  nocfi_evex(leaf_work);
  nocfi_aligned(leaf_work);
  nocfi_inner_aligned();
  nocfi_barrier();
  g_sink = g_sink + 1;
}

NOINLINE void everything(char** plugins) {
  torture_begin();
  recursive(g_depth);
  huge_frame();
  with_alloca(g_depth * 100);
  realigned(g_depth * 10);
  g_sink = g_sink + tail_caller(4);
  g_sink = g_sink + variadic(3, 1.0, 2.0, 3.0);
  Derived derived;
  Base* base = &derived;
  base->act(3);
  std::function<void()> wrapped = [base] { base->act(1); };
  wrapped();
  sorts();
  signals();
  signals_on_other_stack();
  jumps();
  assembly();
  for (int round = 0; round < 2; ++round) {
    plugin(plugins[0]);
    plugin(plugins[1]);
  }
  catches();
  torture_end();
}

extern "C" NOINLINE void torture_begin() { g_sink = g_sink + 1; }
extern "C" NOINLINE void torture_end() { g_sink = g_sink + 1; }

void* in_thread(void* plugins) {
  everything(static_cast<char**>(plugins));
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  stack_t other = {};
  other.ss_size = 1 << 18;
  other.ss_sp = malloc(other.ss_size);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, nullptr);
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, nullptr);
  if (argv[1][0] == 't') {
    pthread_t thread;
    pthread_create(&thread, nullptr, in_thread, argv + 2);
    pthread_join(thread, nullptr);
  } else {
    sigaltstack(&other, nullptr);
    everything(argv + 2);
  }
  printf("%ld\n", static_cast<long>(g_sink) > 0 ? 1L : 0L);
  return 0;
}
