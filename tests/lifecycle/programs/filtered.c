// Works, then lets seccomp kill it for every system call that it does not make itself, and works on: with threads and a
// child. usage: filtered prctl|syscall|every
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile double x;

static void work(long turns) {  // no system call
  for (long i = 0; i < turns; i++) x += (double)i * 0.5;
}

static void* thread(void* unused) {
  work(100 * 1000 * 1000);
  return unused;
}

#define KILL_FOR(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

int main(int count, char** arguments) {
  if (count < 2) return 2;
  pthread_t id;
  pthread_create(&id, NULL, thread, NULL);
  work(100 * 1000 * 1000);
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      KILL_FOR(__NR_timer_create), KILL_FOR(__NR_timer_settime), KILL_FOR(__NR_timer_gettime),
      KILL_FOR(__NR_timer_getoverrun), KILL_FOR(__NR_timer_delete), KILL_FOR(__NR_perf_event_open),
      KILL_FOR(__NR_ioctl), KILL_FOR(__NR_getrusage), KILL_FOR(__NR_clock_gettime), KILL_FOR(__NR_openat),
      KILL_FOR(__NR_sigaltstack), KILL_FOR(__NR_prctl), KILL_FOR(__NR_arch_prctl), KILL_FOR(__NR_close_range),
      KILL_FOR(__NR_process_vm_readv), KILL_FOR(__NR_ptrace), KILL_FOR(__NR_rt_tgsigqueueinfo), KILL_FOR(__NR_fcntl),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 97;
  const unsigned flags = !strcmp(arguments[1], "every") ? SECCOMP_FILTER_FLAG_TSYNC : 0;
  const long refused = strcmp(arguments[1], "prctl") ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program)
                                                     : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  if (refused) return 98;
  pthread_t later[3];
  for (int i = 0; i < 3; i++) pthread_create(&later[i], NULL, thread, NULL);
  work(200 * 1000 * 1000);
  for (int i = 0; i < 3; i++) pthread_join(later[i], NULL);
  pthread_join(id, NULL);
  int status;
  if (fork() == 0) {
    work(50 * 1000 * 1000);
    _exit(3);
  }
  wait(&status);
  const char text[] = "alive\n";
  return write(1, text, sizeof text - 1) > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 96;
}
