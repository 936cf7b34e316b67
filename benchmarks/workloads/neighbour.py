"""A neighbour on the machine that comes and goes: two to six seconds of work, two to six of rest, for ever."""

from __future__ import annotations

import os
import random
import time

import numpy as np


def main() -> None:
    dice = random.Random(os.getpid())
    large = np.ones(4_000_000)
    while True:
        end = time.monotonic() + dice.uniform(2, 6)
        while time.monotonic() < end:
            large *= 1.0000001  # cache and memory, not only a core
        time.sleep(dice.uniform(2, 6))


if __name__ == "__main__":
    main()
