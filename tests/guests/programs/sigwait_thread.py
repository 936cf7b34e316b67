"""The classic signal thread: everything is blocked everywhere, one thread takes signals by sigwait.

usage: sigwait_thread.py [prof]: with prof it waits for a SIGPROF of its own as well.
"""

import os
import signal
import sys
import threading

TURNS = 200
KINDS = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGRTMIN + 3]
if sys.argv[1:] == ["prof"]:
    KINDS.append(signal.SIGPROF)
received = []
taken = threading.Semaphore(0)


def take():
    total = 0
    while len(received) < TURNS:
        for i in range(3000):  # uses CPU time, so that ticks fall into this thread as well
            total = (total * 31 + i) % 1_000_003
        received.append(int(signal.sigwait(signal.valid_signals())))
        taken.release()


def main():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    thread = threading.Thread(target=take)
    thread.start()
    sent, total = [], 0
    for turn in range(TURNS):
        sent.append(int(KINDS[turn % len(KINDS)]))
        os.kill(os.getpid(), sent[-1])
        for i in range(20_000):
            total = (total * 31 + i) % 1_000_003
        taken.acquire()
    thread.join()
    print("as sent", received == sent, "total", total)
    print(
        "blocked", len(signal.pthread_sigmask(signal.SIG_BLOCK, [])), "pending", sorted(signal.sigpending())
    )
    print(received[:10])


main()
