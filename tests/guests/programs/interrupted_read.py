"""A timer must interrupt a blocking read, as timeouts by alarm() and Ctrl-C do: 16 processes, 40 reads each.

A tick that becomes pending together with the timer's signal is delivered first, and its SA_RESTART restarts the read
after both handlers have run: the program waits on. Here a second signal ends that wait, and the late read is counted.
"""

import os
import signal
import time

PROCESSES, READS = 16, 40
FIRST_S, SECOND_S, LATE_S = 0.25, 3.0, 2.0  # far apart, so that a busy machine makes no read late


class Timeout(Exception):
    """Raised by the handler."""


def on_alarm(number, frame):
    raise Timeout


def late_reads(descriptor):
    late = total = 0
    for _ in range(READS):
        for i in range(3000):
            total += i
        start = time.monotonic()
        try:
            signal.setitimer(signal.ITIMER_REAL, FIRST_S, SECOND_S)
            os.read(descriptor, 1)
        except Timeout:
            signal.setitimer(signal.ITIMER_REAL, 0)
        late += time.monotonic() - start > LATE_S
    return late


def main():
    signal.signal(signal.SIGALRM, on_alarm)
    empty, kept_open = os.pipe()
    children = []
    for _ in range(PROCESSES):
        children.append(os.fork())
        if children[-1] == 0:
            os._exit(late_reads(empty))
    late = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    os.close(kept_open)
    print("late reads", sum(late))


main()
