"""A parallel numba loop: generated code on numba's worker threads."""

import numba
import numpy as np


@numba.njit(parallel=True)
def collatz(limit):
    lengths = np.zeros(limit, np.int64)
    for start in numba.prange(1, limit):
        n, length = start, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            length += 1
        lengths[start] = length
    return lengths


def main():
    lengths = collatz(1_500_000)
    print("longest", int(lengths.argmax()), int(lengths.max()), "sum", int(lengths.sum()))


main()
