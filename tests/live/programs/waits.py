"""Waits in epoll with a timeout, and says how each wait ended; works a little in between."""

import ctypes
import os
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
epoll = libc.epoll_create1(0)
events = ctypes.create_string_buffer(120)
print("ready", flush=True)
interrupted = waits = 0
while not os.path.exists(sys.argv[1]):
    if libc.epoll_wait(epoll, events, 10, 200) < 0 and ctypes.get_errno() == 4:
        interrupted += 1
    waits += 1
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        sum(range(1000))
print(waits > 0, interrupted, flush=True)
