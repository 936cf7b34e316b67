"""30 parts of work against 70, in plain calls, a generator and a callback from C, on three threads."""

import sys
import threading
import time


def spin(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def thirty():
    return spin(30_000)


def seventy():
    return spin(70_000)


def generator():
    yield seventy()


class Ordered:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):  # called by list.sort, from C
        spin(3_000)
        return self.value < other.value


def main(cpu_s):
    end = time.process_time() + cpu_s
    while time.process_time() < end:
        thirty()
        for _ in generator():
            pass
        sorted([Ordered(3), Ordered(1), Ordered(2)])


threads = [threading.Thread(target=main, args=(float(sys.argv[1]),)) for _ in range(2)]
for thread in threads:
    thread.start()
main(float(sys.argv[1]))
for thread in threads:
    thread.join()
