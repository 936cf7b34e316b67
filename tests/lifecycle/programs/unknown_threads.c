// Threads that do not come by pthread_create. usage: unknown_threads KIND SECONDS, where KIND is one of
//   c11       thrd_create
//   older     started before the constructors of all libraries ran, and so before any agent was there
//   libc      started by libc for itself: what a timer calls when it expires
//   leaves    by pthread_create, but the main thread has left: it stays in the system's list of threads
//   clone     a bare clone that goes on with its creator's thread-local variables
//   foreign   a bare clone with a thread pointer of its own making, where libc's variables do not exist
// The main thread waits without polling: one that wakes up all the time may move while its stack is read, which the
// agent counts as lost (wait_changed).
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "burn.h"

static double seconds = 0;
static int go = 0, done = 0;
static pthread_t early;
static int has_early = 0;

// Without libc's errno or clock: a bare clone may call nothing that needs its variables.
static double raw_cpu_s(void) {
  struct timespec t;
  register long result asm("rax") = SYS_clock_gettime;
  asm volatile("syscall" : "+a"(result) : "D"(CLOCK_THREAD_CPUTIME_ID), "S"(&t) : "rcx", "r11", "memory");
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
__attribute__((noinline)) void hidden_leaf(void) {
  volatile double x = 0;
  for (int i = 0; i < 20000; i++) x += i;
}
__attribute__((noinline)) void hidden_work(void) {
  double end = raw_cpu_s() + seconds;
  while (raw_cpu_s() < end) hidden_leaf();
}

static int c11(void* unused) {
  (void)unused;
  hidden_work();
  return 42;
}

static void* older(void* unused) {
  while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE)) usleep(1000);
  hidden_work();
  return unused;
}
static void start_early(int argc, char** argv) {
  if (argc < 3 || strcmp(argv[1], "older")) return;
  has_early = pthread_create(&early, NULL, older, NULL) == 0;
}
__attribute__((section(".preinit_array"), used)) static void (*const before_all)(int, char**) = start_early;

static void* last(void* unused) {
  hidden_work();
  puts("leaves 42");
  return unused;
}

static long raw_call(long number, long first, long second, long third) {
  register long result asm("rax") = number;
  asm volatile("syscall" : "+a"(result) : "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory");
  return result;
}
static void is_done(void) {
  __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
  raw_call(SYS_futex, (long)&done, FUTEX_WAKE, 1);
}
static void wait_until_done(void) {
  while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) syscall(SYS_futex, &done, FUTEX_WAIT, 0, NULL);
}

static void expired(union sigval unused) {
  (void)unused;
  hidden_work();
  is_done();
}
static void run_timer(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = expired};
  struct itimerspec when = {.it_value = {.tv_nsec = 1000000}};
  timer_t timer;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &when, NULL);
  wait_until_done();
}

static char own_block[8192] __attribute__((aligned(64)));
static int bare(void* unused) {
  (void)unused;
  hidden_work();
  is_done();
  for (;;) raw_call(SYS_exit, 0, 0, 0);
  return 0;
}

static void run_bare(int with_own_block) {
  enum { kStack = 256 << 10 };
  char* stack = mmap(NULL, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  memset(own_block, 0x5a, sizeof own_block);
  if (with_own_block) flags |= CLONE_SETTLS;
  clone(bare, stack + kStack, flags, NULL, NULL, own_block + 4096);
  wait_until_done();
  usleep(100000);
  for (size_t i = 0; i < sizeof own_block; i++) {
    if (own_block[i] != 0x5a) puts("somebody wrote into the block");
  }
}

int main(int argc, char** argv) {
  seconds = atof(argv[argc - 1]);
  const char* kind = argc > 1 ? argv[1] : "";
  int result = 0;
  if (!strcmp(kind, "c11")) {
    thrd_t id;
    thrd_create(&id, c11, NULL);
    thrd_join(id, &result);
  } else if (!strcmp(kind, "older")) {
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    if (has_early) pthread_join(early, NULL);
    result = has_early ? 42 : 0;
  } else if (!strcmp(kind, "leaves")) {
    pthread_create(&early, NULL, last, NULL);
    pthread_exit(NULL);
  } else if (!strcmp(kind, "libc")) {
    run_timer();
    result = 42;
  } else {
    run_bare(!strcmp(kind, "foreign"));
    result = 42;
  }
  printf("%s %d\n", kind, result);
  return 0;
}
