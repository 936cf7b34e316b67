// Calls that wait and the signals that end them. What it prints must not depend on the agent.
//   alarm|queued|idle|prof|pause ROUNDS   a signal without SA_RESTART ends a read (or a pause): how often did it not?
//     alarm: the process's timer; queued: a signal of the thread, with a number above SIGPROF; idle: alarm, with a
//     second thread that takes signals as well, and SA_ONSTACK, as Python has it; prof: SIGPROF
//   restart ROUNDS      the same with SA_RESTART: how often was the read ended?
//   slow|onstack ROUNDS a handler that lasts longer than a tick's period and blocks everything ends a poll
//   fork ROUNDS         a signal without SA_RESTART meets a fork, which the kernel restarts all the same
//   quiet CALL ROUNDS   no signal at all: how often does the call say that it was interrupted?
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t handled, rewound, ended_call, elsewhere;
static pthread_t main_thread;
static const char* how;
static int ends[2];

static int is(const char* name) { return !strcmp(how, name); }

static void spin(unsigned turns) {
  for (volatile unsigned i = 0; i < turns; i++) {
  }
}

// A signal that ends a call never finds it rewound to its beginning: it would be made again, as if nothing had come.
static void on_signal(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  const greg_t* at = ((ucontext_t*)context)->uc_mcontext.gregs;
  const unsigned char* code = (const unsigned char*)at[REG_RIP];
  if (!pthread_equal(pthread_self(), main_thread)) elsewhere++;
  else if (code[0] == 0x0f && code[1] == 0x05 && at[REG_RCX] == at[REG_RIP] + 2) rewound++;
  else if (at[REG_RCX] == at[REG_RIP] && at[REG_RAX] == -EINTR) ended_call++;
  if (is("slow") || is("onstack")) spin(500000);
  // A read that cannot be ended is no reason to wait for ever.
  if ((++handled > 5 || is("restart")) && write(ends[1], "x", 1) != 1) abort();
}

// rcx is cleared before: at the system call it is its address only if the kernel was there already.
static long bare_read(int fd, char* to) {
  long result;
  asm volatile("xor %%ecx, %%ecx\n syscall"
               : "=a"(result)
               : "a"(SYS_read), "D"(fd), "S"(to), "d"(1)
               : "rcx", "r11", "memory");
  return result;
}

static void* sleeps(void* nothing) {
  for (;;) poll(NULL, 0, -1);
  return nothing;
}

static void handle(int number, int flags) {
  struct sigaction action = {0};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | flags;
  if (is("slow") || is("onstack")) sigfillset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

static timer_t timer_of(int number) {
  timer_t timer;
  struct sigevent event = {0};
  event.sigev_notify = is("queued") ? SIGEV_THREAD_ID : SIGEV_SIGNAL;
  event.sigev_signo = number;
  event._sigev_un._tid = gettid();
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  return timer;
}

static const struct itimerspec never = {{0, 0}, {0, 0}};

static void reads(int rounds) {
  const int number = is("queued") ? SIGRTMIN : is("prof") ? SIGPROF : SIGALRM;
  pthread_t idle;
  if (is("idle")) pthread_create(&idle, NULL, sleeps, NULL);
  handle(number, is("restart") ? SA_RESTART : is("idle") ? SA_ONSTACK : 0);
  timer_t timer = timer_of(number);
  int interrupted = 0, read = 0, not_ended = 0;
  char byte;
  for (int i = 0; i < rounds; i++) {
    spin((unsigned)rand() % 30000);
    // Comes again and again: a signal that came before the read, on a busy machine, is no hang.
    const struct itimerspec when = {{0, 3000000}, {0, 200000}};
    handled = elsewhere = 0;
    timer_settime(timer, 0, &when, NULL);
    const long result = is("pause") ? (pause(), -errno) : bare_read(ends[0], &byte);
    not_ended += elsewhere && handled > elsewhere;  // another thread took it, and this one waited on
    timer_settime(timer, 0, &never, NULL);
    interrupted += result == -EINTR;
    read += result == 1;
  }
  printf("%s: %d interrupted, %d read, rewound %d\n", how, interrupted, read, is("restart") ? 0 : rewound);
  fprintf(stderr, "%d\n", not_ended);
}

static void slow(int rounds) {
  static char memory[64 << 10];
  const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
  if (is("onstack")) sigaltstack(&stack, NULL);
  handle(SIGALRM, is("onstack") ? SA_ONSTACK : 0);
  timer_t timer = timer_of(SIGALRM);
  int lost = 0;
  for (int i = 0; i < rounds; i++) {
    const struct itimerspec when = {{0, 0}, {0, 200000}};
    struct pollfd pollfd = {ends[0], POLLIN, 0};
    handled = ended_call = 0;
    timer_settime(timer, 0, &when, NULL);
    lost += poll(&pollfd, 1, 1000) == 0 && ended_call;
  }
  printf("%s: lost %d\n", how, lost);
}

static void forks(int rounds) {
  handle(SIGALRM, 0);
  timer_t timer = timer_of(SIGALRM);
  const struct itimerspec when = {{0, 500000}, {0, 500000}};
  timer_settime(timer, 0, &when, NULL);
  int failed = 0;
  for (int i = 0; i < rounds; i++) {
    handled = 0;
    const pid_t child = fork();
    if (child == 0) _exit(0);
    failed += child < 0;
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
  }
  timer_settime(timer, 0, &never, NULL);
  printf("fork: failed %d\n", failed);
}

static int quiet_call(const char* call) {
  static int epoll = -1, pair[2];
  static sem_t semaphore;
  if (epoll < 0) {
    struct epoll_event event = {0};
    struct timeval limit = {0, 1000};
    epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sem_init(&semaphore, 0, 0);
  }
  char byte;
  struct pollfd pollfd = {ends[0], POLLIN, 0};
  struct timespec time = {0, 300000};
  struct timeval limit = {0, 300};
  struct epoll_event event;
  fd_set set;
  if (!strcmp(call, "poll")) return poll(&pollfd, 1, 1);
  if (!strcmp(call, "ppoll")) return ppoll(&pollfd, 1, &time, NULL);
  if (!strcmp(call, "select")) {
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    return select(ends[0] + 1, &set, NULL, NULL, &limit);
  }
  if (!strcmp(call, "epoll")) return epoll_wait(epoll, &event, 1, 1);
  if (!strcmp(call, "nanosleep")) return nanosleep(&time, NULL);
  if (!strcmp(call, "clock_nanosleep")) return errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL), errno ? -1 : 0;
  if (!strcmp(call, "usleep")) return usleep(300);
  if (!strcmp(call, "recv")) return (int)recv(pair[0], &byte, 1, 0);
  if (!strcmp(call, "semaphore")) {
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += 300000;
    if (time.tv_nsec >= 1000000000) time.tv_nsec -= 1000000000, time.tv_sec++;
    return sem_timedwait(&semaphore, &time);
  }
  abort();
}

static void quiet(const char* call, int rounds) {
  int interrupted = 0;
  for (int i = 0; i < rounds; i++) {
    spin(rand() % 30000);
    errno = 0;
    interrupted += quiet_call(call) < 0 && errno == EINTR;
  }
  printf("%s: interrupted %d\n", call, interrupted);
}

int main(int count, char** words) {
  if (count < 3 || pipe(ends) != 0) return 2;
  main_thread = pthread_self();
  how = words[1];
  const int rounds = atoi(words[count - 1]);
  if (is("quiet")) quiet(words[2], rounds);
  else if (is("fork")) forks(rounds);
  else if (is("slow") || is("onstack")) slow(rounds);
  else reads(rounds);
  return 0;
}
