// Every signal that matters, with every way to ask for a stack: on which stack does the handler run, with what blocked,
// and what does the program see? What it prints must not depend on the agent.
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "burn.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

enum { kRestorer = 0x04000000, kSmall = 8 << 10, kLarge = 64 << 10 };
static char* own;
static size_t own_size;
static char *stack_low, *stack_high;
static const char* how;
static int want_jump, depth, last_errno;
static sigjmp_buf back;
static char seen[400];

static const char* place(const void* address) {
  const char* at = address;
  if (own && at >= own && at < own + own_size) return "own";
  return at >= stack_low && at < stack_high ? "thread" : "elsewhere";
}

static void deep(int left) {
  volatile char block[4096];
  memset((char*)block, left, sizeof block);
  if (left) deep(left - 1);
}

static void look(int number, const void* local, const ucontext_t* context) {
  stack_t now;
  sigset_t mask;
  memset(&now, 0, sizeof now);
  sigaltstack(NULL, &now);
  pthread_sigmask(SIG_BLOCK, NULL, &mask);
  stack_t disabled;
  memset(&disabled, 0, sizeof disabled);
  disabled.ss_flags = SS_DISABLE;
  int changed = 0;
  errno = 0;
  if (now.ss_flags & SS_ONSTACK) changed = sigaltstack(&disabled, NULL);
  last_errno = errno;
  snprintf(seen, sizeof seen, "%s depth %d: on %s, flags %x, base %s, refused %d %d, blocks prof %d segv %d usr1 %d usr2 %d, %s",
           strsignal(number), depth, place(local), (unsigned)now.ss_flags, now.ss_sp && now.ss_sp == (void*)own ? "own" : "none",
           changed, last_errno, sigismember(&mask, SIGPROF), sigismember(&mask, SIGSEGV), sigismember(&mask, SIGUSR1),
           sigismember(&mask, SIGUSR2), context ? place((void*)context->uc_mcontext.gregs[REG_RSP]) : "no context");
  if (!strcmp(place(local), "thread")) deep(50);
  if (want_jump) siglongjmp(back, 1);
}

static void old_style(int number) { look(number, &number, NULL); }
static void new_style(int number, siginfo_t* info, void* context) {
  look(number, &number, context);
  if (info->si_signo != number) strcat(seen, " wrong siginfo");
  if (info->si_code > 0 && (number == SIGSEGV || number == SIGBUS)) {
    ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] += 3;  // behind the store, see fault()
  }
}

__attribute__((noinline)) static void fault(char* at) { __asm__ volatile("movb $1, (%0)\n" : : "r"(at) : "memory"); }

// Do vector registers survive the handler?
__attribute__((noinline)) static double raised(int number) {
  double a = 1.25, b = 2.5, sum;
  long result = 234;  // tgkill
  __asm__ volatile(
      "movsd %5, %%xmm9\n movsd %6, %%xmm15\n syscall\n addsd %%xmm9, %%xmm15\n movsd %%xmm15, %1\n"
      : "+a"(result), "=m"(sum)
      : "D"(getpid()), "S"(gettid()), "d"(number), "m"(a), "m"(b)
      : "rcx", "r11", "xmm9", "xmm15", "memory");
  return sum;
}

static void set_own(size_t size, unsigned flags) {
  stack_t next, old;
  memset(&next, 0, sizeof next);
  next.ss_flags = SS_DISABLE;
  own_size = 0;
  if (size) {
    own_size = size;
    next.ss_sp = own;
    next.ss_size = size;
    next.ss_flags = (int)flags;
  }
  memset(&old, 0, sizeof old);
  int result = sigaltstack(&next, &old);
  printf("sigaltstack %zu: %d, had flags %x size %zu base %s\n", size, result, (unsigned)old.ss_flags, old.ss_size,
         old.ss_sp == (void*)own ? "own" : "none");
}

static void try_one(int number, int flags, int fill) {
  struct sigaction action, installed, before;
  memset(&action, 0, sizeof action);
  if (flags & SA_SIGINFO) action.sa_sigaction = new_style; else action.sa_handler = old_style;
  action.sa_flags = flags;
  if (fill) sigfillset(&action.sa_mask); else sigaddset(&action.sa_mask, SIGUSR2);
  sigaction(number, &action, &before);
  sigaction(number, NULL, &installed);
  seen[0] = 0;
  double sum = 3.75;
  if (number == SIGSEGV && (flags & SA_SIGINFO)) fault((char*)16);
  // A SIGPROF that is pending when a tick comes is one with it (docs/explanation.md): raised again then.
  for (int tries = 0; !seen[0] && tries < 5; tries++) sum = raised(number);
  printf("%s, %s%s%s%s%s: %s, sum %g, installed %d %d, before %d\n", how, flags & SA_ONSTACK ? "onstack " : "",
         flags & SA_SIGINFO ? "siginfo " : "", flags & SA_NODEFER ? "nodefer " : "", fill ? "full " : "",
         flags & (int)SA_RESETHAND ? "once " : "", seen, sum, (installed.sa_flags & ~kRestorer) == flags,
         installed.sa_handler == action.sa_handler, before.sa_handler == SIG_DFL);
  sigaction(number, NULL, &installed);
  printf("  afterwards default: %d\n", installed.sa_handler == SIG_DFL);
  struct sigaction none;
  memset(&none, 0, sizeof none);
  sigaction(number, &none, NULL);
}

static void try_all(void) {
  static const int kNumbers[] = {SIGUSR1, SIGPROF, SIGSEGV, SIGBUS, SIGALRM};
  static const int kFlags[] = {0, SA_ONSTACK, SA_SIGINFO, SA_ONSTACK | SA_SIGINFO, SA_ONSTACK | SA_SIGINFO | SA_NODEFER,
                               SA_ONSTACK | (int)SA_RESETHAND, SA_NODEFER};
  for (unsigned n = 0; n < sizeof kNumbers / sizeof *kNumbers; n++) {
    for (unsigned f = 0; f < sizeof kFlags / sizeof *kFlags; f++) {
      for (int fill = 0; fill < 2; fill++) try_one(kNumbers[n], kFlags[f], fill);
      want_jump = 1;
      if (!sigsetjmp(back, 1)) try_one(kNumbers[n], kFlags[f], 0);
      else printf("jumped out: %s\n", seen);
      want_jump = 0;
    }
    signal(kNumbers[n], SIG_DFL);
  }
}

// A handler on its own stack that is itself interrupted by another on that stack.
static void nested(int number) {
  (void)number;
  depth++;
  raised(SIGUSR1);
  depth--;
}

// The old trick for making coroutines: a handler that stays on the alternate stack it was started on.
static ucontext_t caller, coroutine;
static void stay(int number) {
  (void)number;
  if (getcontext(&coroutine) == 0 && depth == 0) return;
  volatile int marks = 0x1234;
  burn_s(0.02);
  printf("coroutine on %s, %x\n", place((void*)&marks), marks);
  setcontext(&caller);
}

static void refused(void) {
  stack_t next;
  memset(&next, 0, sizeof next);
  next.ss_sp = own;
  next.ss_size = 100;
  errno = 0;
  int result = sigaltstack(&next, NULL);
  printf("too small: %d %d\n", result, errno);
  next.ss_size = kLarge;
  next.ss_flags = 64;
  errno = 0;
  result = sigaltstack(&next, NULL);
  printf("bad flags: %d %d\n", result, errno);
}

static void* work(void* unused) {
  pthread_attr_t attributes;
  void* low;
  size_t size;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  stack_low = low;
  stack_high = stack_low + size;
  own = mmap(NULL, kLarge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  refused();
  for (int kind = 0; kind < 4; kind++) {
    how = (const char*[]){"no stack", "small stack", "large stack", "autodisarm"}[kind];
    set_own((size_t[]){0, kSmall, kLarge, kLarge}[kind], kind == 3 ? SS_AUTODISARM : 0);
    try_all();
    struct sigaction outer, inner;
    memset(&outer, 0, sizeof outer);
    memset(&inner, 0, sizeof inner);
    outer.sa_handler = nested;
    inner.sa_handler = old_style;
    outer.sa_flags = inner.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &outer, NULL);
    sigaction(SIGUSR1, &inner, NULL);
    if (kind != 1) raised(SIGUSR2);  // two frames do not fit on the small one
    printf("nested: %s\n", seen);
    burn_s(0.01);
    printf("signal() gives %d\n", signal(SIGUSR1, SIG_IGN) == old_style);
    fflush(stdout);
    if (fork() == 0) {
      sigaction(SIGUSR1, &inner, NULL);
      raised(SIGUSR1);
      printf("child: %s\n", seen);
      fflush(stdout);
      _exit(0);
    }
    wait(NULL);
  }
  set_own(0, 0);
  set_own(kSmall, 0);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = stay;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, NULL);
  raised(SIGUSR1);
  set_own(0, 0);
  own_size = kSmall;
  depth = 1;
  volatile int came_back = 0;
  getcontext(&caller);
  if (!came_back++) setcontext(&coroutine);
  printf("back\n");
  return unused;
}

int main(void) {
  setvbuf(stdout, NULL, _IOFBF, 1 << 20);
  work(NULL);
  fflush(stdout);
  depth = 0;
  pthread_t id;
  if (pthread_create(&id, NULL, work, NULL)) return 1;
  pthread_join(id, NULL);
  return 0;
}
