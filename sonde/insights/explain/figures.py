"""What a topic takes in one recording: samples with its frames, calls of its operators, its device events."""

from __future__ import annotations

import re

import numpy as np

from sonde.analyze.ops.table import op_table
from sonde.analyze.samples.stack_index import StackIndex, text_mask
from sonde.columns import Text
from sonde.store.recording import Recording

MOST_NAMES = 3


def figures(recording: Recording, pattern: re.Pattern[str]) -> list[str]:
    """Sentences with this recording's own numbers; empty when nothing in it matches."""
    return [*_samples(recording, pattern), *_calls(recording, pattern), *_kernels(recording, pattern)]


def _samples(recording: Recording, pattern: re.Pattern[str]) -> list[str]:
    samples = recording.table("samples")
    index = StackIndex(recording.table("frames"), recording.table("stacks"))
    if not len(samples) or not len(index):
        return []
    frames = text_mask(index.frames.text("name"), lambda name: bool(pattern.search(name)))
    stack = samples.array("stack").astype(np.int64)
    known = (stack >= 0) & (stack < len(index))
    weight = np.where(known, np.maximum(samples.array("weight_ns"), 0), 0).astype(np.float64)
    at = np.where(known, stack, 0)
    running = ~samples.text("state").equals("waiting")
    anywhere, leaf = index.on_stack(frames)[at] & known, index.leaf(frames)[at] & known
    lines = []
    for mask, of in ((running, "CPU time"), (~running, "waiting time")):
        whole = float(weight[mask].sum())
        part, own = float(weight[mask & anywhere].sum()), float(weight[mask & leaf].sum())
        if whole and part:
            lines.append(
                f"{part / whole:.1%} of the {of} ({part / 1e9:.2f} s) is in or below such frames, "
                f"{own / whole:.1%} in themselves"
            )
    if lines:
        names = _most(index.frames.text("name").take(index.innermost(frames)[at[anywhere]]))
        lines.append(f"here: {names}")
    return lines


def _calls(recording: Recording, pattern: re.Pattern[str]) -> list[str]:
    ops = recording.table("ops")
    if not len(ops):
        return []
    table = op_table(ops)
    rows = np.flatnonzero(text_mask(table.text("name"), lambda name: bool(pattern.search(name))))
    if not len(rows):
        return []
    whole = max(float(table.array("self_ns").sum()), 1.0)
    calls, own = int(table.array("calls")[rows].sum()), float(table.array("self_ns")[rows].sum())
    names = ", ".join(str(table.text("name")[int(r)]) for r in rows[:MOST_NAMES])
    return [
        f"{calls:,} recorded calls ({names}), {own / 1e6:.2f} ms self, {own / whole:.1%} of all operators"
    ]


def _kernels(recording: Recording, pattern: re.Pattern[str]) -> list[str]:
    found = []
    for name, what in (("kernels", "device events"), ("launches", "runtime calls")):
        table = recording.table(name)
        rows = text_mask(table.text("name"), lambda text: bool(pattern.search(text)))
        if rows.any():
            length = table.array("end_ns") - table.array("start_ns")
            part, whole = float(length[rows].sum()), max(float(length.sum()), 1.0)
            found.append(
                f"{int(rows.sum()):,} {what} ({_most(table.text('name').take(rows))}), {part / 1e6:.2f} ms, "
                f"{part / whole:.1%} of all {what}"
            )
    return found


def _most(names: Text) -> str:
    codes, counts = np.unique(names.codes[names.codes >= 0], return_counts=True)
    return ", ".join(
        names.values[code] for code in codes[np.argsort(-counts, kind="stable")][:MOST_NAMES].tolist()
    )
