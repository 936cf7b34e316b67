// Closes every descriptor it does not know, opens its own and writes to them. usage: closes_everything FILE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "burn.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  burn_s(0.3);
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  int highest = limit.rlim_cur < 20000 ? (int)limit.rlim_cur : 20000;
  for (int fd = 3; fd < highest; fd++) close(fd);
  // Take the numbers that were closed, so that a careless write would land in our file.
  for (int fd = 3; fd < highest; fd++) {
    int own = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (own < 0) break;
    if (fd == 3 && write(own, "mine\n", 5) != 5) return 1;
  }
  burn_s(0.5);
  return 0;
}
