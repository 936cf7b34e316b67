"""Everything at once that is hard on a sampler of Python: code made, run and freed, threads, forks,
exceptions, generators, coroutines, collections and libraries that come and go. Prints "done".

Usage: soak_python.py SECONDS LIBRARY   (LIBRARY: any shared object with `int soak_work(int)`)
"""

from __future__ import annotations

import _ctypes
import asyncio
import collections
import ctypes
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

counts: collections.Counter[str] = collections.Counter()
stop = threading.Event()


def churning_code() -> None:
    for n in range(10_000):
        space: dict[str, Callable[[int], int]] = {}
        lines = "\n" * (n % 50) + f"def made_{n}(k):\n  return sum(i * i for i in range(k))\n"
        exec(compile(lines, f"made_{n % 97}.py", "exec"), space)
        assert space[f"made_{n}"](40) == 20540
        counts["functions"] += 1
        if n % 100 == 0:
            gc.collect()
        if stop.is_set():
            return


def deep(n: int) -> int:
    if n == 0:
        raise ValueError("soak")
    return deep(n - 1) + 1


def throwing() -> None:
    for _ in range(200):
        try:
            deep(60)
        except ValueError:
            counts["thrown"] += 1


def numbers(n: int) -> Iterator[int]:
    if n:
        yield n
        yield from numbers(n - 1)


async def ticking() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def generating() -> None:
    assert sum(numbers(60)) == 1830

    async def several() -> None:
        await asyncio.gather(*(ticking() for _ in range(10)))

    asyncio.run(several())
    counts["generated"] += 1


def short_threads() -> None:
    threads = [threading.Thread(target=throwing) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts["threads"] += 4


def loading() -> None:
    library = ctypes.CDLL(sys.argv[2])
    assert library.soak_work(100_000) >= 0
    _ctypes.dlclose(library._handle)
    counts["loads"] += 1


def forking() -> None:
    rounds = 1 if counts["forks"] % 4 else 50  # a short-lived child earns no log
    child = os.fork()
    if child == 0:
        try:
            for _ in range(rounds):
                throwing()
            os._exit(7)
        finally:
            os._exit(8)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    counts["forks"] += 1


def forever(work: Callable[[], None]) -> Callable[[], None]:
    def loop() -> None:
        while not stop.is_set():
            work()

    return loop


def main() -> None:
    end = time.monotonic() + float(sys.argv[1])
    workers = (churning_code, throwing, generating, short_threads, loading)
    threads = [threading.Thread(target=forever(work), daemon=True) for work in workers]
    for thread in threads:
        thread.start()
    while time.monotonic() < end and all(thread.is_alive() for thread in threads):
        forking()
        time.sleep(0.05)
    alive = [thread.is_alive() for thread in threads]
    stop.set()
    for thread in threads:
        thread.join()
    status = Path("/proc/self/status").read_text().splitlines()
    counts["peak_kib"] = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    print(*(f"{name} {count}" for name, count in counts.items()), file=sys.stderr)
    print("done" if all(alive) else f"a worker died: {alive}")


if __name__ == "__main__":
    main()
