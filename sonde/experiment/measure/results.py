"""Did the change keep the program's results? What it printed, reduced to what must not change.

Times, rates and dates differ between any two runs. What is compared are numbers that
follow a word for quality (loss, accuracy, …); they may differ in the last digits, since another
number of threads sums in another order.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
from pathlib import Path

TOLERANCE = 0.01  # relative
_NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf)"
_WORDS = r"(loss|acc(?:uracy)?|error|perplexity|ppl|score|bleu|f1|elbo|reward|checksum|result)"
_PATTERN = re.compile(_WORDS + r"\w*\W{0,4}" + _NUMBER, re.IGNORECASE)


def printed_results(output: str) -> str:
    """`loss=0.51 accuracy=0.9 …` in the order printed; empty when the program prints no such thing."""
    return " ".join(f"{word.lower()}={number}" for word, number in _PATTERN.findall(output))


def checked_result(command: str, output: Path, directory: Path | None = None) -> str:
    """What the user's own check says: its output, or that it failed. The program's output is in $SONDE_OUTPUT."""
    done = subprocess.run(
        command, shell=True, text=True, capture_output=True, cwd=directory, check=False,
        env={**os.environ, "SONDE_OUTPUT": str(output)},
    )  # fmt: skip
    return " ".join(done.stdout.split()) if done.returncode == 0 else f"check-failed={done.returncode}"


def agree(a: str, b: str) -> bool:
    """Equal words in equal order, and numbers within the tolerance."""
    left, right = a.split(), b.split()
    if len(left) != len(right):
        return False
    return all(map(_agree, left, right))


def _agree(a: str, b: str) -> bool:
    if a == b:
        return True
    (word_a, _, number_a), (word_b, _, number_b) = a.rpartition("="), b.rpartition("=")
    try:
        x, y = float(number_a), float(number_b)
    except ValueError:
        return False
    if word_a != word_b or math.isnan(x) or math.isnan(y):
        return False
    return math.isclose(x, y, rel_tol=TOLERANCE, abs_tol=1e-6)
