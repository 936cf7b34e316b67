"""`stacks`: where on-CPU time goes: the hottest functions, then the call tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from sonde.analyze.samples.stacks import TreeNode, hot_frames, top_down
from sonde.store.recording import Recording
from sonde.views.columns import Column, matching, ordered
from sonde.views.options import ShowOptions
from sonde.views.set_apart import Apart, extent_of
from sonde.views.thread_choice import of_thread

TREE_SHARE = 0.02  # paths below this share of the whole are not drawn
DEEPEST = 200  # levels of the nested tree; Python's own JSON gives up at some 300


@dataclass(frozen=True)
class HotRow:
    """A function, or a line of a Python function."""

    name: Annotated[str, Column("function", meaning="function, with file and line of a Python one")]
    layer: Annotated[str, Column("layer", meaning="python, module, op, native, jit, kernel, gpu or label")]
    library: Annotated[str | None, Column("library", meaning="the library that it is in")]
    self_ms: Annotated[float, Column("self", "ms", "time on the CPU in the function itself")]
    total_ms: Annotated[
        float, Column("total", "ms", "the same with everything it called; recursion counts once")
    ]
    samples: Annotated[int, Column("samples", "count", "samples behind the self time")]


@dataclass(frozen=True)
class Stacks:
    """On-CPU time without start, imports and shutdown (`--whole`: with them), of all threads or of `--thread`."""

    on_cpu_ms: float
    apart: Apart
    samples: int
    hot: list[HotRow]
    tree: dict[str, Any]  # nested: name, self_ms, total_ms, children


def data(recording: Recording, options: ShowOptions) -> Stacks:
    """Hot functions by self time; `--native` shows the frames of the interpreter and the runtimes too."""
    samples = recording.table("samples")
    samples = samples.take(~samples.text("state").equals("waiting") & of_thread(recording, options.thread))
    extent = extent_of(recording, options)
    apart = extent.apart(samples)
    if extent.span is not None:
        samples = samples.take(extent.split(samples)[1] > 0)
    frames, stacks = recording.table("frames"), recording.table("stacks")
    libraries = frames.text("library")
    hot = hot_frames(frames, stacks, samples, runtime=options.native)
    tree = top_down(frames, stacks, samples, runtime=options.native, min_share=TREE_SHARE)
    rows = [
        HotRow(h.label, h.layer, libraries[h.frame], h.self_ns / 1e6, h.total_ns / 1e6, h.samples)
        for h in hot
    ]
    rows = matching(rows, options.filter, lambda row: row.name)
    return Stacks(
        on_cpu_ms=int(samples.array("weight_ns").sum()) / 1e6,
        apart=apart,
        samples=len(samples),
        hot=ordered(rows, HotRow, options.sort, "self_ms"),
        tree=_tree(tree),
    )


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
