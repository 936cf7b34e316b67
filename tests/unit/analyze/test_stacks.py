"""Hot frames and the tree from a small prefix tree with known weights."""

from __future__ import annotations

import numpy as np

from sonde.analyze.samples.stacks import hot_frames, summed_by, top_down
from sonde.columns import Table, Text
from sonde.store import build

#  main ─ eval(runtime) ─ f ─ f ─ work
#                          └ [op] aten::mm


def tables() -> tuple[Table, Table, Table]:
    frames = build.table(
        "frames",
        frame=range(5),
        layer=Text.of(["native", "native", "python", "native", "op"]),
        name=Text.of(["main", "eval", "f", "wo;rk", "aten::mm"]),
        full_name=Text.of(["main", "eval", "f", "wo;rk", "aten::mm"]),
        file=Text.of([None, None, "/a/b.py", None, None]),
        line=[-1, -1, 7, -1, -1],
        runtime=[False, True, False, False, False],
    )
    stacks = build.table(
        "stacks",
        stack=range(6),
        parent=[-1, 0, 1, 2, 3, 2],
        frame=[0, 1, 2, 2, 3, 4],
        depth=[1, 2, 3, 4, 5, 4],
    )
    samples = build.table("samples", stack=[4, 4, 5, 1, 2, -1], weight_ns=[10, 10, 5, 3, 2, 99])
    return frames, stacks, samples


def test_hidden_machinery_gives_its_time_to_the_caller() -> None:
    (main,) = top_down(*tables(), runtime=False).sorted_children()
    assert (main.label, main.self_ns) == ("main", 3)
    assert top_down(*tables(), runtime=False).total_ns == 30


def test_recursion_counts_once_in_the_total() -> None:
    hot = {h.label: (h.self_ns, h.total_ns, h.samples) for h in hot_frames(*tables())}
    assert hot["f (b.py:7)"] == (2, 27, 1)
    assert hot["wo;rk"] == (20, 20, 2)
    assert hot["main"] == (0, 30, 0)
    assert next(iter(hot)) == "wo;rk"


def test_lines_of_one_native_function_are_one_place() -> None:
    frames = build.table(
        "frames", frame=[0, 1], layer=Text.of(["native"] * 2), name=Text.of(["f"] * 2), line=[3, 4]
    )
    stacks = build.table("stacks", stack=[0, 1], parent=[-1, -1], frame=[0, 1], depth=[1, 1])
    samples = build.table("samples", stack=[0, 1], weight_ns=[10, 5])
    (f,) = top_down(frames, stacks, samples).sorted_children()
    assert (f.label, f.self_ns) == ("f", 15)


def test_small_paths_are_dropped_on_demand() -> None:
    tree = top_down(*tables(), min_share=0.5)
    path = []
    while tree.children:
        (tree,) = tree.sorted_children()
        path.append(tree.label)
    assert path == ["main", "eval", "f (b.py:7)", "f (b.py:7)", "wo;rk"]


def test_totals_count_recursion_once() -> None:
    """a ─ b ─ a ─ c, and b beside the first: a is on top of itself, and counts once."""
    parent, key = np.array([-1, 0, 1, 2, -1]), np.array([0, 1, 0, 2, 1])
    weight, count = np.array([1, 2, 4, 8, 16]), np.array([1, 1, 1, 1, 2])
    own, total, behind = summed_by(parent, key, weight, count, 3)
    assert own.tolist() == [5, 18, 8]
    assert total.tolist() == [15, 30, 8]
    assert behind.tolist() == [4, 5, 1]
