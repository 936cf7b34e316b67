"""`sonde show REC stacks`: where on-CPU time goes: the hottest functions, then the call tree."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from sonde.analyze.samples.stacks import TreeNode, hot_frames, top_down
from sonde.columns import Table
from sonde.errors import UsageError
from sonde.render.text.page import Column, Page, bar
from sonde.render.text.units import count, milliseconds, percent
from sonde.render.text.view import ShowOptions
from sonde.store.recording import Recording

TREE_SHARE = 0.02  # paths below this share of the whole are not drawn
DEEPEST = 200  # levels of the nested tree; Python's own JSON gives up at some 300
HOT_ROWS = 15
TREE_LINES = 40


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """`on_cpu_ms` (the whole); `hot`: name, layer, self_ms, total_ms, samples; `tree`: nested paths."""
    samples = _chosen(recording, options)
    frames, stacks = recording.table("frames"), recording.table("stacks")
    whole = int(samples.array("weight_ns").sum())
    hot = hot_frames(frames, stacks, samples, runtime=options.native)
    tree = top_down(frames, stacks, samples, runtime=options.native, min_share=TREE_SHARE)
    rows = [
        {
            "name": h.label,
            "layer": h.layer,
            "self_ms": h.self_ns / 1e6,
            "total_ms": h.total_ns / 1e6,
            "samples": h.samples,
        }
        for h in hot
    ]
    if options.filter:
        try:
            pattern = re.compile(options.filter)
        except re.error as error:
            raise UsageError(f"--filter {options.filter!r} is not a regular expression: {error}") from None
        rows = [r for r in rows if pattern.search(str(r["name"]))]
    rows.sort(key=lambda r: -float(str(r["self_ms"])))
    return {"on_cpu_ms": whole / 1e6, "samples": len(samples), "hot": rows, "tree": _tree(tree)}


def _chosen(recording: Recording, options: ShowOptions) -> Table:
    samples = recording.table("samples")
    mask = ~samples.text("state").equals("waiting")
    if options.thread is not None:
        threads = recording.table("threads")
        numbers = threads.array("thread")[threads.array("tid") == options.thread]
        if len(numbers) == 0:
            raise UsageError(f"no thread {options.thread}", "see: sonde show REC threads")
        mask &= np.isin(samples.array("thread"), numbers)
    return samples.take(mask)


def _tree(root: TreeNode) -> dict[str, Any]:
    """Nested paths. What lies deeper than programs read JSON is left out; its time is in the last `total_ms`."""
    top = _node(root)
    work = [(root, top, 0)]
    while work:
        node, made, depth = work.pop()
        children = node.sorted_children()
        if depth == DEEPEST and children:
            made["deeper"] = True
            continue
        made["children"] = [_node(child) for child in children]
        work += [(c, m, depth + 1) for c, m in zip(children, made["children"], strict=True)]
    return top


def _node(node: TreeNode) -> dict[str, Any]:
    return {
        "name": node.label,
        "self_ms": node.self_ns / 1e6,
        "total_ms": node.total_ns / 1e6,
        "children": [],
    }


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    whole = data["on_cpu_ms"]
    if not whole:
        page.line("No on-CPU samples were recorded.")
        return
    page.heading(
        f"Hottest functions, of {milliseconds(whole)} on-CPU time in {count(data['samples'])} samples"
    )
    page.table(
        [
            Column("self", right=True),
            Column("", right=True),
            Column("total", right=True),
            Column("function", fold=True),
        ],
        [
            (
                milliseconds(r["self_ms"]),
                percent(r["self_ms"] / whole),
                milliseconds(r["total_ms"]),
                r["name"],
            )
            for r in data["hot"][: options.rows(HOT_ROWS)]
        ],
    )
    page.line()
    page.heading(f"Call tree (paths above {percent(TREE_SHARE)} of on-CPU time)")
    lines = _lines(data["tree"], whole, 0)
    limit = options.rows(TREE_LINES)
    for line in lines[:limit]:
        page.line(line[: page.width])
    if len(lines) > limit:
        page.line(f"{len(lines) - limit} more lines (use --limit)")
    page.next(f"sonde report {options.name} --open", f"sonde show {options.name} ops")


def _lines(node: dict[str, Any], whole: float, depth: int) -> list[str]:
    """One line per path; chains of single calls with no time of their own stay on one indentation."""
    lines = []
    for child in node["children"]:
        share = child["total_ms"] / whole
        lines.append(f"{percent(share):>7}  {bar(share, 8)}  {'  ' * min(depth, 24)}{child['name']}")
        branches = len(child["children"]) > 1 or child["self_ms"] > TREE_SHARE * whole
        lines += _lines(child, whole, depth + 1 if branches else depth)
    return lines
