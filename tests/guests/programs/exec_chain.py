"""Replaces itself by itself 15 times, once through a shell, with a little work each time."""

import os
import sys

left = int(sys.argv[1]) if len(sys.argv) > 1 else 15
total = sum(i * i for i in range(200_000))
print(left, total, os.getppid() > 1, flush=True)
if left == 7:
    os.execv("/bin/sh", ["sh", "-c", 'exec "$@"', "sh", sys.executable, __file__, str(left - 1)])
if left:
    os.execv(sys.executable, [sys.executable, __file__, str(left - 1)])
sys.exit(5)
