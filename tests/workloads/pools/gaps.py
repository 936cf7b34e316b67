"""Two lines open regions in turn; what follows the first leaves the worker idle three times as long."""

import ctypes
import sys
import time

library = ctypes.CDLL(sys.argv[1])
for name in ("region", "alone"):
    getattr(library, name).argtypes = [ctypes.c_double]


def first() -> None:
    library.region(1.0)


def second() -> None:
    library.region(1.0)


begin = time.process_time()
while time.process_time() - begin < float(sys.argv[2]):
    first()
    library.alone(6.0)
    second()
    library.alone(2.0)
