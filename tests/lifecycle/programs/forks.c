// Children by fork, by vfork and exec, and a grandchild; each burns CPU time. usage: forks SECONDS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

int main(int argc, char** argv) {
  double seconds = atof(argv[argc - 1]);
  if (argc > 2 && !strcmp(argv[1], "child")) {
    burn_s(seconds);
    return 5;
  }
  int status, total = 0;
  burn_s(seconds);
  for (int i = 0; i < 2; i++) {
    if (fork() == 0) {
      burn_s(seconds);
      if (fork() == 0) {
        burn_s(seconds);
        _exit(1);
      }
      wait(&status);
      exit(2 + WEXITSTATUS(status));
    }
  }
  while (wait(&status) > 0) total += WEXITSTATUS(status);
  char* empty[] = {NULL};
  char* arguments[] = {argv[0], "child", argv[argc - 1], NULL};
  pid_t child = vfork();
  if (child == 0) {
    execve("/proc/self/exe", arguments, empty);
    _exit(99);
  }
  waitpid(child, &status, 0);
  total += WEXITSTATUS(status);
  burn_s(seconds);
  printf("%d\n", total);  // 3 + 3 + 5
  return 0;
}
