"""One thread sleeps in C with the GIL, another wants it."""

import ctypes
import threading
import time

c_library = ctypes.PyDLL(None)  # unlike CDLL it keeps the GIL during calls
wants = threading.Event()


def holds():
    wants.wait()
    c_library.write(1, b"ready\n", 6)
    c_library.sleep(1000)


def works():
    wants.set()
    while True:
        sum(range(1000))


threading.Thread(target=holds, daemon=True).start()
threading.Thread(target=works, daemon=True).start()
time.sleep(1000)
