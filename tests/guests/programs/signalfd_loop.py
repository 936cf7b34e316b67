"""Signals read from a signalfd with every signal in its set; work between the reads.

usage: signalfd_loop.py [prof]: with prof it sends itself SIGPROF as well.
"""

import ctypes
import os
import signal
import struct
import sys

TURNS = 200
KINDS = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGRTMIN + 3]
if sys.argv[1:] == ["prof"]:
    KINDS.append(signal.SIGPROF)
SIGINFO_BYTES = 128


def main():
    libc = ctypes.CDLL(None, use_errno=True)
    full = (ctypes.c_ulong * 16)(*[0xFFFFFFFFFFFFFFFF] * 16)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    descriptor = libc.signalfd(-1, ctypes.byref(full), os.O_CLOEXEC | os.O_NONBLOCK)
    sent, received, total = [], [], 0
    for turn in range(TURNS):
        sent.append(int(KINDS[turn % len(KINDS)]))
        os.kill(os.getpid(), sent[-1])
        for i in range(20_000):
            total = (total * 31 + i) % 1_000_003
        while True:
            try:
                text = os.read(descriptor, SIGINFO_BYTES * 4)
            except BlockingIOError:
                break
            for at in range(0, len(text), SIGINFO_BYTES):
                received.append(struct.unpack_from("I", text, at)[0])
    print("as sent", received == sent, "total", total, received[:10])


main()
