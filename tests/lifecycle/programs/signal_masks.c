// Programs that block signals, or leave their handlers by siglongjmp, while samples are taken whose reads fault.
// usage: signal_masks masks PROF SEGV THREAD | timeouts SECONDS | sent SECONDS
//   masks     own SIGPROF handler (none, empty, full: its mask), own SIGSEGV handler (none, full, onstack), what the
//             thread blocks (none, all)
//   timeouts  an alarm many times a second, whose handler jumps out of the work
//   sent      another thread sends SIGSEGV, whose handler jumps out of the work
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "burn.h"

static sigjmp_buf back;
static volatile sig_atomic_t handled, jumps, stopped;
static volatile int in_work;

static void count(int number) { handled += number != 0; }
static void jump(int number) {
  (void)number;
  if (!in_work) return;
  jumps++;
  siglongjmp(back, 1);
}

// push rbp; mov r11, rsp; xor ebp, ebp; mov rsp, rsi; 1: dec rdi; jnz 1b; lea rax, [rip+2]; jmp rax; mov rsp, r11; pop rbp; ret
// No tables, nothing to read ahead to, and the memory above the stack pointer ends: every walk meets a fault.
static const uint8_t kCode[] = {0x55, 0x49, 0x89, 0xe3, 0x31, 0xed, 0x48, 0x89, 0xf4, 0x48, 0xff, 0xcf, 0x75, 0xfb,
                                0x48, 0x8d, 0x05, 0x02, 0x00, 0x00, 0x00, 0xff, 0xe0, 0x4c, 0x89, 0xdc, 0x5d, 0xc3};

static void* faulting_work(void* block_all) {
  if (block_all) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
  }
  void* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code, kCode, sizeof kCode);
  char* memory = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory + (1 << 15), 1 << 15, PROT_NONE);
  double end = cpu_s(CLOCK_THREAD_CPUTIME_ID) + 0.15;
  while (cpu_s(CLOCK_THREAD_CPUTIME_ID) < end) ((void (*)(uint64_t, void*))code)(5u << 20, memory + (1 << 15) - 64);
  return NULL;
}

static int masks(const char* prof, const char* segv, const char* thread) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = count;
  action.sa_flags = SA_RESTART;
  if (!strcmp(prof, "full")) sigfillset(&action.sa_mask);
  if (strcmp(prof, "none")) sigaction(SIGPROF, &action, NULL);
  sigfillset(&action.sa_mask);
  if (!strcmp(segv, "onstack")) {
    static char stack[8192];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&own, NULL);
    action.sa_flags = SA_ONSTACK;
  }
  if (strcmp(segv, "none")) sigaction(SIGSEGV, &action, NULL);
  pthread_t id;
  if (pthread_create(&id, NULL, faulting_work, !strcmp(thread, "all") ? &id : NULL)) return 1;
  pthread_join(id, NULL);
  if (strcmp(thread, "all")) faulting_work(NULL);
  printf("handlers ran %d times\n", (int)handled);
  return 0;
}

static void work_and_jump(double seconds) {
  double end = cpu_s(CLOCK_THREAD_CPUTIME_ID) + seconds;
  while (cpu_s(CLOCK_THREAD_CPUTIME_ID) < end) {
    if (!sigsetjmp(back, 1)) {
      in_work = 1;
      burn_s(0.002);
    }
    in_work = 0;
  }
}

static int timeouts(double seconds) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = jump;
  sigaction(SIGALRM, &action, NULL);
  struct itimerval timer = {{0, 150}, {0, 150}};
  setitimer(ITIMER_REAL, &timer, NULL);
  work_and_jump(seconds);
  memset(&timer, 0, sizeof timer);
  setitimer(ITIMER_REAL, &timer, NULL);
  printf("jumped: %d\n", jumps > 100);
  return 0;
}

static pthread_t target;
static void* sender(void* unused) {
  while (!stopped) {
    pthread_kill(target, SIGSEGV);
    usleep(50);
  }
  return unused;
}

static int sent(double seconds) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = jump;
  sigaction(SIGSEGV, &action, NULL);
  target = pthread_self();
  pthread_t id;
  if (pthread_create(&id, NULL, sender, NULL)) return 1;
  work_and_jump(seconds);
  stopped = 1;
  pthread_join(id, NULL);
  printf("jumped: %d\n", jumps > 100);
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 5) return masks(argv[2], argv[3], argv[4]);
  if (argc != 3) return 2;
  return !strcmp(argv[1], "sent") ? sent(atof(argv[2])) : timeouts(atof(argv[2]));
}
