// A command line (arguments between zero bytes) on stdin → the same without its secrets on stdout.
#include <cstdio>

#include "process/secrets.h"

int main() {
  static char command[1 << 16], shown[1 << 17];
  size_t size = fread(command, 1, sizeof command, stdin);
  fwrite(shown, 1, sonde::hide_secrets(command, size, shown, sizeof shown), stdout);
}
