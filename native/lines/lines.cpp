// Keeps the verbose lines of oneDNN and MKL out of a program's output.
//
// Preloaded only by `sonde run --primitives`. The libraries print with printf and vfprintf of
// libc, which compilers turn into puts and fwrite where they can; these are interposed here. A text that starts as a
// verbose line does goes to FOLDER/PID.primitives.log, with CLOCK_MONOTONIC and the
// thread in front ("NS TID text"); everything else goes to libc as it came, so the
// program's own output keeps its descriptor, its buffer and its order.
//
// In a Python process it sleeps until an observer calls sonde_lines_start: torch is asked
// to print in some steps only. Any other program has no such switch, so the variables that
// make the libraries print are set for it, and it is recorded from start to end.
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1  // else stdio.h defines vprintf itself, and clang takes ours for a second definition
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SONDE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr const char* kFolder = "SONDE_AGENT_LINES";
constexpr const char* kSetByUs = "SONDE_AGENT_LINES_SET";
constexpr const char* kSwitches[] = {"ONEDNN_VERBOSE", "DNNL_VERBOSE", "MKLDNN_VERBOSE", "MKL_VERBOSE"};
constexpr const char* kMarkers[] = {"onednn_verbose", "dnnl_verbose", "mkldnn_verbose", "onednn_graph_verbose",
                                    "MKL_VERBOSE"};
constexpr int kHighDescriptor = 512;  // out of the way of programs that close what they find
constexpr size_t kUsualLine = 4096;

char folder[4096];
int log_fd = -1;                        // -1: nothing is taken
thread_local bool line_is_open = false;  // the last text taken had no newline: its rest follows

bool starts_with_marker(const char* text, size_t size) {
  for (const char* marker : kMarkers) {
    size_t length = strlen(marker);
    if (size >= length && !memcmp(text, marker, length)) return true;
  }
  return false;
}

int open_log() {
  char path[4200];
  snprintf(path, sizeof path, "%s/%d.primitives.log", folder, static_cast<int>(getpid()));
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  int high = fcntl(fd, F_DUPFD_CLOEXEC, kHighDescriptor);
  if (high < 0) return fd;
  close(fd);
  return high;
}

// One write per text: lines of several threads cannot mix.
void keep(int fd, const char* text, size_t size) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  char head[64] = "";
  int head_size = 0;
  if (!line_is_open) {
    head_size = snprintf(head, sizeof head, "%lld %ld ", now.tv_sec * 1000000000LL + now.tv_nsec,
                         syscall(SYS_gettid));
  }
  line_is_open = size > 0 && text[size - 1] != '\n';
  iovec parts[2] = {{head, static_cast<size_t>(head_size)}, {const_cast<char*>(text), size}};
  ssize_t written = writev(fd, parts, 2);
  (void)written;  // a full disk costs this line; the reader counts what is cut
}

// Whether this text was a verbose line, or goes on with one; it is then kept.
bool take_text(FILE* stream, const char* text, size_t size) {
  int fd = __atomic_load_n(&log_fd, __ATOMIC_ACQUIRE);
  if (fd < 0 || stream != stdout || (!line_is_open && !starts_with_marker(text, size))) return false;
  keep(fd, text, size);
  return true;
}

// Whether this text was a verbose line, which is then kept. `size` is what printf would return.
bool take(FILE* stream, const char* format, va_list arguments, int* size) {
  int fd = __atomic_load_n(&log_fd, __ATOMIC_ACQUIRE);
  if (fd < 0 || stream != stdout) return false;
  // Formats of other output are told by their first letters; only "%s…" must be written out to know.
  if (!line_is_open && format[0] != '%' && !starts_with_marker(format, strlen(format))) return false;
  char usual[kUsualLine];
  va_list copy;
  va_copy(copy, arguments);
  *size = vsnprintf(usual, sizeof usual, format, copy);
  va_end(copy);
  if (*size < 0 || (!line_is_open && !starts_with_marker(usual, strlen(usual)))) return false;
  if (static_cast<size_t>(*size) < sizeof usual) {
    keep(fd, usual, static_cast<size_t>(*size));
    return true;
  }
  size_t room = static_cast<size_t>(*size) + 1;
  char* large = static_cast<char*>(malloc(room));
  if (!large) return false;
  va_copy(copy, arguments);
  vsnprintf(large, room, format, copy);
  va_end(copy);
  keep(fd, large, room - 1);
  free(large);
  return true;
}

using Plain = int (*)(FILE*, const char*, va_list);
using Checked = int (*)(FILE*, int, const char*, va_list);
using Write = size_t (*)(const void*, size_t, size_t, FILE*);
Plain real_vfprintf = nullptr;
Checked real_vfprintf_chk = nullptr;
Write real_fwrite = nullptr;

void find_originals() {
  if (!real_vfprintf) real_vfprintf = reinterpret_cast<Plain>(dlsym(RTLD_NEXT, "vfprintf"));
  if (!real_vfprintf_chk) real_vfprintf_chk = reinterpret_cast<Checked>(dlsym(RTLD_NEXT, "__vfprintf_chk"));
  if (!real_fwrite) real_fwrite = reinterpret_cast<Write>(dlsym(RTLD_NEXT, "fwrite"));
}

int print(FILE* stream, const char* format, va_list arguments) {
  int size = 0;
  if (take(stream, format, arguments, &size)) return size;
  find_originals();
  return real_vfprintf(stream, format, arguments);
}

int print_checked(FILE* stream, int flag, const char* format, va_list arguments) {
  int size = 0;
  if (take(stream, format, arguments, &size)) return size;
  find_originals();
  return real_vfprintf_chk(stream, flag, format, arguments);
}

void in_forked_child() {
  line_is_open = false;
  if (log_fd < 0) return;
  close(log_fd);
  log_fd = open_log();
}

__attribute__((constructor)) void begin() {
  find_originals();
  const char* told = getenv(kFolder);
  if (!told || strlen(told) >= sizeof folder) return;
  strcpy(folder, told);
  pthread_atfork(nullptr, nullptr, in_forked_child);
  bool ours = getenv(kSetByUs) != nullptr;
  if (dlsym(RTLD_DEFAULT, "Py_IsInitialized")) {
    // A shell or a launcher before us has set them; here an observer decides.
    for (const char* name : kSwitches) {
      if (ours) unsetenv(name);
    }
    unsetenv(kSetByUs);
    return;
  }
  if (!ours) {
    for (const char* name : kSwitches) {
      if (getenv(name)) return;  // the user wants to see the lines
    }
    for (const char* name : kSwitches) setenv(name, "1", 1);
    setenv(kSetByUs, "1", 1);
  }
  log_fd = open_log();
}

}  // namespace

// Begin to take lines in this process; 0 when that is possible.
SONDE_EXPORT int sonde_lines_start() {
  if (!folder[0]) return -1;
  if (log_fd < 0) __atomic_store_n(&log_fd, open_log(), __ATOMIC_RELEASE);
  return log_fd < 0 ? -1 : 0;
}

// Take no more. Callers have switched the libraries off first.
SONDE_EXPORT void sonde_lines_stop() {
  int fd = __atomic_exchange_n(&log_fd, -1, __ATOMIC_ACQ_REL);
  if (fd >= 0) close(fd);
}

SONDE_EXPORT int vfprintf(FILE* stream, const char* format, va_list arguments) {
  return print(stream, format, arguments);
}

SONDE_EXPORT int vprintf(const char* format, va_list arguments) { return print(stdout, format, arguments); }

SONDE_EXPORT int printf(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int size = print(stdout, format, arguments);
  va_end(arguments);
  return size;
}

SONDE_EXPORT int fprintf(FILE* stream, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int size = print(stream, format, arguments);
  va_end(arguments);
  return size;
}

SONDE_EXPORT size_t fwrite(const void* data, size_t size, size_t count, FILE* stream) {
  if (take_text(stream, static_cast<const char*>(data), size * count)) return count;
  find_originals();
  return real_fwrite(data, size, count, stream);
}

SONDE_EXPORT int fputs(const char* text, FILE* stream) {
  size_t size = strlen(text);
  if (take_text(stream, text, size)) return 1;
  find_originals();
  return real_fwrite(text, 1, size, stream) == size ? 1 : EOF;
}

SONDE_EXPORT int puts(const char* text) {
  size_t size = strlen(text);
  if (take_text(stdout, text, size)) {
    if (line_is_open) take_text(stdout, "\n", 1);
    return 1;
  }
  // One lock for both, as libc's own has: lines of threads must not mix.
  find_originals();
  flockfile(stdout);
  bool whole = real_fwrite(text, 1, size, stdout) == size && real_fwrite("\n", 1, 1, stdout) == 1;
  funlockfile(stdout);
  return whole ? 1 : EOF;
}

// What the compiler calls instead under _FORTIFY_SOURCE.
SONDE_EXPORT int __vfprintf_chk(FILE* stream, int flag, const char* format, va_list arguments) {
  return print_checked(stream, flag, format, arguments);
}

SONDE_EXPORT int __vprintf_chk(int flag, const char* format, va_list arguments) {
  return print_checked(stdout, flag, format, arguments);
}

SONDE_EXPORT int __printf_chk(int flag, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int size = print_checked(stdout, flag, format, arguments);
  va_end(arguments);
  return size;
}

SONDE_EXPORT int __fprintf_chk(FILE* stream, int flag, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int size = print_checked(stream, flag, format, arguments);
  va_end(arguments);
  return size;
}
