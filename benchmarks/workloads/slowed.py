"""Run a script as it is, or with some milliseconds of plain Python added to each optimizer step.

Usage: python slowed.py MS SCRIPT [ARGUMENTS]
MS is CPU time, so that a busy machine does not make the planted change smaller. With MS "tell" nothing is added,
and the median CPU time of the main thread from one optimizer step to the next is printed at the end.
"""

from __future__ import annotations

import itertools
import os
import runpy
import sys
import time
from typing import Any


def main() -> None:
    amount, script = sys.argv[1], sys.argv[2]
    sys.argv = sys.argv[2:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    if amount != "0":
        from torch.optim.optimizer import register_optimizer_step_post_hook

        moments: list[float] = []

        def burn(*_: Any) -> None:
            end = time.thread_time() + float(amount) / 1e3
            while time.thread_time() < end:
                pass

        def note(*_: Any) -> None:
            moments.append(time.thread_time())

        register_optimizer_step_post_hook(note if amount == "tell" else burn)
    runpy.run_path(script, run_name="__main__")
    if amount == "tell":
        lengths = sorted(b - a for a, b in itertools.pairwise(moments))
        print(f"slowed: a step takes {lengths[len(lengths) // 2] * 1e3:.3f} ms of CPU time", file=sys.stderr)


if __name__ == "__main__":
    main()
