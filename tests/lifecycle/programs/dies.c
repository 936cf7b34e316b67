// Ends in the way that is asked for. usage: dies exit3|segv|prof|abort|killed
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "burn.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  burn_s(0.15);
  if (!strcmp(argv[1], "exit3")) exit(3);
  if (!strcmp(argv[1], "_exit4")) _exit(4);
  if (!strcmp(argv[1], "segv")) *(volatile int*)16 = 1;
  if (!strcmp(argv[1], "prof")) raise(SIGPROF);
  if (!strcmp(argv[1], "abort")) abort();
  if (!strcmp(argv[1], "killed")) kill(getpid(), SIGKILL);
  return 0;
}
