// A program without a loader: nothing can be loaded into it.
#include <stdio.h>
#include <unistd.h>

int main(void) {
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}
