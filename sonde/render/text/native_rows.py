"""Where an operator's own time went, as rows below the operator's row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sonde.render.text.units import count, milliseconds

TITLES = {
    "kernel": "kernels",
    "copy": "copying memory",
    "spin": "busy-waiting (idle pool threads)",
    "imbalance": "waiting for slower threads",
    "fault": "page faults",
    "allocation": "allocation",
    "dispatch": "dispatch and set-up",
    "binding": "Python binding",
    "python": "Python",
    "system": "operating system",
    "other": "other",
}
WAITS = {"fault": "page faults", "gil": "the GIL", "preempted": "preempted", "idle": "idle"}
LEAST_PART, LEAST_LEAF, LEAVES_SHOWN = 0.02, 0.05, 3


def native_rows(row: dict[str, Any], head: list[str]) -> Iterator[list[str]]:
    """The operator's own row (`head`), then one per part and per function that matter, then its waits."""
    yield head
    split = row["native"]
    blank = [""] * (len(head) - 7)  # the group's column, where there is one
    if not split:
        return
    for part in split["parts"]:
        if part["share"] < LEAST_PART:
            continue
        yield [f"  {TITLES[part['name']]}", *blank, *_figures(part, row["self_ms"])]
        leaves = [leaf for leaf in split["leaves"] if leaf["part"] == part["name"]]
        for leaf in [leaf for leaf in leaves if leaf["share"] >= LEAST_LEAF][:LEAVES_SHOWN]:
            yield [f"    {leaf['name']}", *blank, *_figures(leaf, row["self_ms"])]
    for reason, wait in split["waits"].items():
        title = f"  off the CPU: {WAITS.get(reason, reason)}"
        yield [title, *blank, "", milliseconds(wait["ms"]), "", "", count(wait["waits"]), ""]


def _figures(share: dict[str, Any], self_ms: float) -> list[str]:
    interval = f"{share['low'] * 100:.0f}–{share['high'] * 100:.0f} %"
    return [
        "",
        milliseconds(share["share"] * self_ms),
        f"{share['share'] * 100:.0f} %",
        interval,
        count(share["samples"]),
        "",
    ]
