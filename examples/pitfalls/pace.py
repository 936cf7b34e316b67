"""Steps for a given length of time, and what a step took: what every pitfall shares.

    for step in steps():
        ...

A program takes `--fixed` to run without its mistake and `--seconds N` to run longer.
"""

import argparse
import statistics
import time
from collections.abc import Iterator

_parser = argparse.ArgumentParser()
_parser.add_argument("--fixed", action="store_true", help="run without the mistake")
_parser.add_argument("--seconds", type=float, default=4.0, help="how long to step")
_parser.add_argument("--steps", type=int, default=0, help="this many steps instead")
options = _parser.parse_args()
FIXED: bool = options.fixed
FEWEST = 24


def steps(fewest: int = FEWEST) -> Iterator[int]:
    """Numbers of steps until the time is over; prints the median of the later half, and the mean."""
    took: list[float] = []
    start = before = time.perf_counter()
    number = 0
    while number < (options.steps or fewest) or (not options.steps and before - start < options.seconds):
        yield number
        now = time.perf_counter()
        took.append(now - before)
        before = now
        number += 1
    middle, mean = statistics.median(took[len(took) // 2 :]) * 1e3, statistics.mean(took[1:]) * 1e3
    print(f"median step {middle:.4f} ms, mean {mean:.4f} ms, of {number}")
