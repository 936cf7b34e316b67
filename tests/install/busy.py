"""Two seconds of CPU time in one function, with a C function below it."""

import time


def hot_loop(seconds: float) -> int:
    end = time.thread_time() + seconds
    total = 0
    while time.thread_time() < end:
        total += sum(sorted(range(2000), key=lambda x: -x)[:10])
    return total


hot_loop(2.0)
print("busy: done")
