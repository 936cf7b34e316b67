"""Really crashes, with faulthandler enabled: its report on stderr and its signal must be as without Sonde."""

import ctypes
import faulthandler

faulthandler.enable()
total = 0
for i in range(3_000_000):
    total = (total * 31 + i) % 1_000_003
print("total", total, flush=True)
ctypes.string_at(16)
