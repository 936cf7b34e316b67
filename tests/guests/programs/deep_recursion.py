"""10,000 Python frames, then 10,000 with C frames in between, with work at the bottom of both."""

import sys
import threading


def work():
    total = 0
    for i in range(4_000_000):
        total = (total * 31 + i) % 1_000_003
    return total


def plain(depth):
    return plain(depth - 1) + 1 if depth else work()


def through_c(depth):
    return max([depth], key=lambda d: through_c(d - 1) if d else work())


def too_deep(depth):
    return too_deep(depth + 1) + 1


def main():
    print("plain", plain(10_000))
    print("through C", through_c(5_000))
    try:
        too_deep(0)
    except RecursionError:
        print("the limit holds")


sys.setrecursionlimit(20_100)
threading.stack_size(1 << 30)
thread = threading.Thread(target=main)
thread.start()
thread.join()
