"""What the notes on a folder of traces say, one function per thing that a reader must know before any figure.

Enters: names, ranks, reasons. Leaves: lines of text, shortened where a folder has hundreds of such files.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

NAMED = 5  # files of one kind that are named one by one


def left_out(files: Sequence[tuple[str, str]]) -> list[str]:
    """Files that are named like traces, each with the reason why it is not read."""
    lines = [
        f"{name} {why} and is left out"
        if why.startswith(("is ", "holds "))
        else f"{name} could not be read and is left out: {why}"
        for name, why in files[:NAMED]
    ]
    if len(files) > NAMED:
        lines.append(f"{len(files) - NAMED} more files are left out likewise")
    return lines


def without_device(files: Sequence[tuple[str, str]]) -> list[str]:
    """Files that are traces of no device, each with why it is incomplete ("" when it is whole)."""
    lines = [
        f"{name} has no device events and is left out; it is incomplete: {why}" for name, why in files if why
    ][:NAMED]
    names = [name for name, why in files if not why]
    if names:
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        verb = "has no device events and is" if len(names) == 1 else "have no device events and are"
        lines.append(f"{', '.join(names[:NAMED])}{more} {verb} left out")
    return lines


def of_run(
    files: Sequence[tuple[int, str, str]], missing: Sequence[int], world_sizes: Collection[int]
) -> list[str]:
    """`files`: rank, name and why it is cut off, of the ranks that ran together."""
    lines = []
    if missing:
        there = ranges([rank for rank, _, _ in files])
        verb = "is" if len(missing) == 1 else "are"
        lines.append(f"{_ranks(missing)} {verb} missing: the traces are of {there}")
    broken = [(rank, name, why) for rank, name, why in files if why]
    lines += [f"{name} (rank {rank}) is incomplete: {why}" for rank, name, why in broken[:NAMED]]
    if len(broken) > NAMED:
        lines.append(f"the files of {len(broken) - NAMED} more ranks are incomplete")
    if len(world_sizes) > 1:
        lines.append(f"files disagree on the world size: {sorted(world_sizes)}")
    return lines


def other_runs(runs: Sequence[tuple[int, Sequence[int], str]], at: int) -> list[str]:
    """`runs`: start, ranks and first file of each, by time; `at` is the one that is shown."""
    if len(runs) < 2:
        return []
    shown_ns, shown, name = runs[at]
    others = [
        f"run {i + 1} ({_ranks(ranks)}, {first}, {_apart(start_ns - shown_ns)}) with --run {i + 1}"
        for i, (start_ns, ranks, first) in enumerate(runs)
        if i != at
    ]
    more = f"; {len(others) - NAMED} more likewise" if len(others) > NAMED else ""
    return [
        f"the folder holds {len(runs)} runs, and this is run {at + 1} ({_ranks(shown)}, {name}); "
        f"show {'; '.join(others[:NAMED])}{more}"
    ]


def _ranks(numbers: Sequence[int]) -> str:
    return f"{'rank' if len(numbers) == 1 else 'ranks'} {ranges(numbers)}"


def _apart(ns: int) -> str:
    seconds = abs(ns) / 1e9
    if seconds < 0.05:
        return "at the same time"
    length = f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    return f"{length} {'earlier' if ns < 0 else 'later'}"


def ranges(numbers: Sequence[int]) -> str:
    """1, 2, 3, 7 → "1-3, 7"."""
    parts: list[list[int]] = []
    for n in sorted(numbers):
        if parts and n == parts[-1][-1] + 1:
            parts[-1].append(n)
        else:
            parts.append([n])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)
