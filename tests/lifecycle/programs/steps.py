"""Equal steps of pure Python, each announced. Usage: steps.py CPU_SECONDS"""

from __future__ import annotations

import sys
import time

import sonde


def work() -> int:
    return sum(i * i for i in range(20_000))


while time.process_time() < float(sys.argv[1]):
    work()
    sonde.step()
