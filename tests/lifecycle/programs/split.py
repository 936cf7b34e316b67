"""Two functions share the time about 70 to 30, in turns of a fraction of a millisecond. Prints the share
of `seventy` by each thread's own clock: the answer that a profile must give.

Usage: split.py SECONDS THREADS
"""

from __future__ import annotations

import sys
import threading
import time


def seventy(n: int) -> int:
    total = 0
    for i in range(7 * n):
        total += i
    return total


def thirty(n: int) -> int:
    total = 0
    for i in range(3 * n):
        total += i
    return total


def work(seconds: float, spent: list[float]) -> None:
    a = time.thread_time()
    end = a + seconds
    while a < end:
        seventy(1000)
        b = time.thread_time()
        thirty(1000)
        c = time.thread_time()
        spent[0] += b - a
        spent[1] += c - b
        a = c


def main() -> None:
    seconds, count = float(sys.argv[1]), int(sys.argv[2])
    spent = [[0.0, 0.0] for _ in range(count)]
    threads = [threading.Thread(target=work, args=(seconds, spent[i])) for i in range(1, count)]
    for thread in threads:
        thread.start()
    work(seconds, spent[0])
    for thread in threads:
        thread.join()
    of_seventy, of_thirty = (sum(part) for part in zip(*spent, strict=True))
    print(f"{of_seventy / (of_seventy + of_thirty):.6f}")


if __name__ == "__main__":
    main()
