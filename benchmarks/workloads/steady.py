"""A training loop beside inference for a length of time, working about a third of it; prints when it ended.

Usage: steady.py SECONDS. The line printed last is CLOCK_MONOTONIC at the end of the work, in nanoseconds.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from loop import op_dense, transformer

IDLE_PER_WORK = 2.0


def main() -> None:
    steps = (op_dense(), transformer())
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        start = time.thread_time()
        for _ in range(20):
            for step in steps:
                step()
        time.sleep(IDLE_PER_WORK * (time.thread_time() - start))
    print(time.monotonic_ns(), flush=True)


if __name__ == "__main__":
    main()
