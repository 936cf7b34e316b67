"""What `sonde demo` profiles where torch is missing: a small classifier in numpy with one mistake.

The mistake: `scaled` normalises row by row in Python, where one line of numpy would do for all rows. The flame
graph shows it as wide as the matrix multiplications.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

CPU_SECONDS = 3.0  # of the main thread: some hundred samples, also on a busy machine
BATCH = 1024


def scaled(rows: Any) -> Any:
    """Each row with mean 0 and deviation 1, slowly."""
    done = np.empty_like(rows)
    for i, row in enumerate(rows):
        done[i] = (row - row.mean()) / row.std()
    return done


def step(rows: Any, labels: Any, first: Any, second: Any) -> float:
    """One step of gradient descent on two layers; the loss before it."""
    hidden = np.maximum(rows @ first, 0)
    scores = hidden @ second
    scores -= scores.max(1, keepdims=True)
    chance = np.exp(scores)
    chance /= chance.sum(1, keepdims=True)
    loss = -np.log(chance[np.arange(len(rows)), labels]).mean()
    chance[np.arange(len(rows)), labels] -= 1
    chance /= len(rows)
    back = (chance @ second.T) * (hidden > 0)
    second -= 0.5 * (hidden.T @ chance)
    first -= 0.5 * (rows.T @ back)
    return float(loss)


def main() -> None:
    made = np.random.default_rng(0)
    points = made.standard_normal((8192, 256), dtype=np.float32)
    labels = (points @ made.standard_normal((256, 10), dtype=np.float32)).argmax(1)
    first = made.standard_normal((256, 256), dtype=np.float32) * 0.05
    second = made.standard_normal((256, 10), dtype=np.float32) * 0.05
    loss = 0.0
    end = time.thread_time() + CPU_SECONDS
    done = 0
    while time.thread_time() < end:
        start = done * BATCH % len(points)
        loss = step(scaled(points[start : start + BATCH]), labels[start : start + BATCH], first, second)
        done += 1
    print(f"sonde demo: {done} training steps, loss {loss:.3f}")


if __name__ == "__main__":
    main()
