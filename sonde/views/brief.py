"""An answer in at most 2,000 tokens, for assistants and small screens.

Enters: the JSON of any answer, and what it was asked of. Leaves: the same keys with figures of four digits, lists
cut to what fits, and beside them
    samples    how many samples the figures rest on, where the recording has samples
    share_of_samples  of a row with samples: [low, estimate, high], the 95 % interval of its share, by moments
    left_out   how many entries of which list are not here
    ask_next   commands that go on from here
Nothing is changed but lengths: what is left out is counted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sonde.analyze.base.moments import moments
from sonde.store.recording import Recording

MOST_CHARACTERS = 5_400  # JSON has 2.7 to 3.5 characters a token, so this stays below 2,000
LONGEST_TEXT = 400
DEEPEST = 6
LENGTHS = (20, 12, 8, 5, 3, 2, 1)
Z = 1.96

NEXT: dict[str, tuple[str, ...]] = {  # an answer that has `ask_next` and `left_out` of its own brings them
    "diff": ("sonde insights {rec} --brief",),
    "verdict": ("sonde insights {rec} --brief", "sonde show {rec} account --brief"),
    "account": ("sonde insights {rec} --brief", "sonde show {rec} ops --by line --brief"),
    "ops": ("sonde show {rec} ops --by line --brief", "sonde explain OPERATOR"),
    "stacks": ("sonde show {rec} ops --brief", "sonde explain FRAME"),
    "steps": ("sonde show {rec} account --brief",),
    "waits": ("sonde show {rec} threads --brief", "sonde explain wait"),
    "threads": ("sonde show {rec} waits --brief",),
    "gpu": ("sonde insights {rec} --brief", "sonde show {rec} ops --brief"),
    "memory": ("sonde show {rec} ops --sort cpu_mem_bytes --brief",),
    "quality": ("sonde show {rec} losses --brief",),
}
OTHERWISE = ("sonde insights {rec} --brief",)


@dataclass(frozen=True)
class Looks:
    """What stands behind a recording's figures. Threads are sampled together, so looks are fewer than samples."""

    samples: int = 0
    moments: int = 0

    @classmethod
    def of(cls, recording: Recording) -> Looks:
        samples = recording.table("samples")
        number = moments(samples.array("time_ns"))
        return cls(len(samples), int(number.max(initial=-1)) + 1)

    @property
    def each(self) -> float:
        """Samples per look."""
        return self.samples / self.moments if self.moments else 1.0


def brief(answer: Mapping[str, Any], kind: str, name: str, looks: Looks) -> dict[str, Any]:
    """`answer` shortened; `kind` is the view's name, `name` how the next commands call the recording."""
    samples = looks.samples
    head: dict[str, Any] = {"answer": kind, "of": name}
    if samples:
        head["samples"] = samples
    own = dict(answer)
    tail = {
        "ask_next": own.pop("ask_next", [command.format(rec=name) for command in NEXT.get(kind, OTHERWISE)])
    }
    not_here = own.pop("left_out") if isinstance(own.get("left_out"), dict) else {}
    whole = own.get("samples")
    total = whole if isinstance(whole, int) and whole > 0 else samples
    for rows in LENGTHS:
        left_out = dict(not_here)
        short = _shortened(own, rows, (total, looks.each), left_out, "", 0)
        found = {**head, **short, **({"left_out": left_out} if left_out else {}), **tail}
        if len(json.dumps(found, ensure_ascii=False)) <= MOST_CHARACTERS:
            return found
    # Even one row of everything is too long: keep what is short, and say what is not here.
    kept: dict[str, Any] = {}
    for key, value in short.items():
        if len(json.dumps({**head, **kept, key: value, **tail}, ensure_ascii=False)) < MOST_CHARACTERS - 500:
            kept[key] = value
        else:
            left_out[key] = len(value) if isinstance(value, list | dict | str) else 1
    few = dict(sorted(left_out.items(), key=lambda item: len(item[0]))[:10])
    return {**head, **kept, "left_out": few, **tail}


def share_interval(part: int, samples: int, each: float = 1.0) -> list[float]:
    """Low, estimate and high of a share that `part` of the samples show, `each` of them at one look (Wilson, 95 %)."""
    share, whole = part / samples, samples / each
    middle = (share + Z * Z / (2 * whole)) / (1 + Z * Z / whole)
    half = Z * math.sqrt(share * (1 - share) / whole + Z * Z / (4 * whole * whole)) / (1 + Z * Z / whole)
    return [_digits(max(0.0, middle - half)), _digits(share), _digits(min(1.0, middle + half))]


def _shortened(
    value: Any, rows: int, total: tuple[int, float], left_out: dict[str, int], path: str, depth: int
) -> Any:
    if isinstance(value, float):
        return _digits(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT else value[: LONGEST_TEXT - 1] + "…"
    if isinstance(value, Mapping):
        return _object(value, rows, total, left_out, path, depth)
    if isinstance(value, list | tuple):
        if depth >= DEEPEST:
            left_out[path] = left_out.get(path, 0) + len(value)
            return []
        if len(value) > rows:
            left_out[path] = left_out.get(path, 0) + len(value) - rows
        return [_shortened(one, rows, total, left_out, path, depth + 1) for one in value[:rows]]
    return value


def _object(
    value: Mapping[str, Any],
    rows: int,
    total: tuple[int, float],
    left_out: dict[str, int],
    path: str,
    depth: int,
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, one in value.items():
        if one is None or (depth and one in ("", [], {})):  # an empty list at the top is an answer
            continue
        found[key] = _shortened(one, rows, total, left_out, f"{path}.{key}" if path else key, depth + 1)
    part = value.get("samples")
    if depth and isinstance(part, int) and 0 <= part <= total[0] and total[0]:
        found["share_of_samples"] = share_interval(part, *total)
    return found


def _digits(value: float) -> float:
    """Four digits: more would claim what no sample tells."""
    return float(f"{value:.4g}")
