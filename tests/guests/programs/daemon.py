"""Forks twice and leaves; the daemon works on for a second of CPU time and has the last word on stdout."""

import os
import time

print("starting", flush=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        total, end = 0, time.process_time() + 1.0
        while time.process_time() < end:
            total = sum(range(1000))
        os.write(1, f"daemon is done: {total}\n".encode())
        os._exit(0)
    os._exit(0)
os.wait()
os.write(1, b"parent is done\n")
