"""Samples, stacks and frames → the page.

Frames are merged into functions (name, file, library) and lines, stacks into
the prefix tree of those, samples into rows of equal slot, thread, stack and
state. Weights are kept to the nanosecond: whatever is joined or pruned, the
sum of the page's rows is the sum of the recording's samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.analyze.account.stack_kinds import kind_of_stacks
from sonde.analyze.account.waited_for import work_waited_for
from sonde.analyze.base.grouping import group, prefix_tree, rows_of
from sonde.analyze.base.nesting import depths, levels, sum_up
from sonde.analyze.samples.stack_index import StackIndex
from sonde.analyze.samples.stacks import summed_by
from sonde.columns import Array, Table, Text
from sonde.insights.host_layers import sample_kinds
from sonde.render.html.layers import OTHER, function_class, is_interpreter, stack_classes
from sonde.render.html.limits import Limits
from sonde.render.html.payload import Payload
from sonde.store.recording import Recording

# Order is the order of the codes in the page (web/src/data/model.ts).
LAYERS = ("python", "module", "op", "native", "jit", "kernel", "gpu", "label")
STATES = ("running", "spinning", "imbalance", "waiting")
NO_STACK = "(no stack recorded)"
PRUNED = "(pruned)"


def add_profile(payload: Payload, recording: Recording, limits: Limits, origin_ns: int) -> dict[str, Any]:
    """Put functions, frames, stacks and samples into the payload; return what was joined or pruned."""
    frames = recording.table("frames")
    stacks = recording.table("stacks")
    samples = recording.table("samples")
    frame_of, frame_first, function_of = _merge_frames(frames)
    node_of, parent, frame, heuristic = _merge_stacks(frames, stacks, frame_of, len(frame_first))
    weight = samples.array("weight_ns").astype(np.int64)
    stack = rows_of(stacks.array("stack"), samples.array("stack"))
    missing = len(parent) - 1  # the last node stands for samples without a stack
    node = np.where(stack >= 0, node_of[np.maximum(stack, 0)] if len(node_of) else missing, missing)
    sums = _on_cpu(
        samples, node, weight, parent, np.append(function_of, int(function_of.max(initial=-1)) + 1)[frame]
    )
    functions, own_class = _functions(payload, frames, frame_first, function_of, sums)
    node, parent, frame, heuristic, pruned = _prune(
        node, weight, parent, frame, heuristic, limits.stack_share, len(frame_first) + 1
    )
    line = np.append(frames.array("line")[frame_first].astype(np.int64), [-1, -1])
    function = np.append(function_of, [functions, functions + 1])
    payload.add("frames", function=function, line=line)
    own = np.append(own_class, [-1, -1])
    payload.add(
        "stacks",
        parent=parent,
        frame=frame,
        heuristic=heuristic,
        work=stack_classes(parent, own[function[frame]]),
    )
    judged = payload.facts.get("answers", {}).get("verdict") or {}
    index = StackIndex(frames, stacks)
    behind = work_waited_for(samples, recording.table("threads"), index, kind_of_stacks(index))
    kinds = sample_kinds(index, samples, bool(judged.get("crowded")), behind)
    rows, slot_ns = _join(samples, node, weight, kinds, limits.sample_rows)
    _add_samples(payload, samples, rows, origin_ns)
    return {
        "samples": len(samples),
        "rows": len(rows["time"]),
        "slot_ns": slot_ns,
        "pruned_nodes": pruned[0],
        "pruned_ns": pruned[1],
    }


def _merge_frames(frames: Table) -> tuple[Array, Array, Array]:
    """New frame of each row, first row of each new frame, and its function number."""
    function, _ = group(
        frames.text("layer").codes,
        frames.text("name").codes,
        frames.text("file").codes,
        frames.text("library").codes,
        frames.array("inlined"),
    )
    frame_of, first = group(function, frames.array("line"))
    return frame_of, first, function[first]


def _on_cpu(samples: Table, node: Array, weight: Array, parent: Array, function: Array) -> dict[str, Array]:
    """Self time, total time and samples of each function on the CPU, of the whole recording, before pruning."""
    chosen = ~samples.text("state").equals("waiting")
    spent = np.zeros(len(parent), np.int64)
    np.add.at(spent, node[chosen], weight[chosen])
    count = np.bincount(node[chosen], minlength=len(parent)).astype(np.int64)
    functions = int(function.max(initial=0)) + 1
    names = ("cpu_self", "cpu_total", "cpu_samples")
    return dict(zip(names, summed_by(parent, function, spent, count, functions), strict=True))


def _functions(
    payload: Payload, frames: Table, first: Array, function_of: Array, sums: dict[str, Array]
) -> tuple[int, Array]:
    """Add the function table; return the number of real functions and their classes."""
    _, pick = np.unique(function_of, return_index=True)
    chosen = frames.take(first[pick])
    layer = _codes(chosen.text("layer"), LAYERS, LAYERS.index("native"))
    names, libraries = chosen.text("name").tolist(), chosen.text("library").tolist()
    classes = np.array(
        [
            function_class(LAYERS[code], name or "", library or "")
            for code, name, library in zip(layer, names, libraries, strict=True)
        ],
        np.int64,
    )
    runtime = chosen.array("runtime") | np.array(
        [
            is_interpreter(LAYERS[code], name or "", library or "")
            for code, name, library in zip(layer, names, libraries, strict=True)
        ],
        np.bool_,
    )
    strings = payload.strings
    extra = [strings(NO_STACK), strings(PRUNED)]
    label = LAYERS.index("label")
    payload.add(
        "functions",
        layer=np.append(layer, [label, label]),
        work=np.append(
            np.where(classes < 0, OTHER, classes), [OTHER, OTHER]
        ),  # the colour of native functions
        name=np.append(strings.column(chosen.text("name")), extra),
        full=np.append(strings.column(chosen.text("full_name")), [-1, -1]),
        file=np.append(strings.column(chosen.text("file")), [-1, -1]),
        library=np.append(strings.column(chosen.text("library")), [-1, -1]),
        runtime=np.append(runtime.astype(np.int64), [0, 0]),
        inlined=np.append(chosen.array("inlined").astype(np.int64), [0, 0]),
        **{name: np.append(values, 0) for name, values in sums.items()},  # nothing is known of what is pruned
    )
    return len(chosen), classes


def _merge_stacks(
    frames: Table, stacks: Table, frame_of: Array, no_stack_frame: int
) -> tuple[Array, Array, Array, Array]:
    """New node of each stack row, and parent, frame and heuristic flag of each new node."""
    parent = rows_of(stacks.array("stack"), stacks.array("parent"))
    row = rows_of(frames.array("frame"), stacks.array("frame"))
    key = np.where(row >= 0, frame_of[np.maximum(row, 0)] if len(frame_of) else 0, no_stack_frame)
    node_of, new_parent, first = prefix_tree(parent, depths(parent), key)
    guessed = np.zeros(len(new_parent), np.int64)
    np.maximum.at(guessed, node_of, stacks.array("heuristic").astype(np.int64))
    return (
        node_of,
        np.append(new_parent, -1),
        np.append(key[first], no_stack_frame),
        np.append(guessed, 0),
    )


def _prune(
    node: Array, weight: Array, parent: Array, frame: Array, heuristic: Array, share: float, pruned_frame: int
) -> tuple[Array, Array, Array, Array, tuple[int, int]]:
    """Drop nodes without samples; fold those below `share` of all time into a "pruned" sibling."""
    own = np.bincount(node, weight, len(parent))
    used = np.bincount(node, minlength=len(parent)) > 0
    total = sum_up(parent, own.astype(np.float64))
    keep = sum_up(parent, used.astype(np.int64)) > 0
    small = keep & (total < share * max(float(own.sum()), 1.0))
    keep &= ~small
    # Highest small nodes: each becomes, or joins, the pruned child of its parent.
    top = small & np.where(parent >= 0, keep[np.maximum(parent, 0)], True)
    lost = round(float(total[top].sum()))
    new = np.full(len(parent), -1, np.int64)
    new[keep] = np.arange(int(keep.sum()))
    above, inverse = np.unique(parent[top], return_inverse=True)
    base = int(keep.sum())
    new[top] = base + inverse.reshape(-1)
    for rows in levels(depths(parent)):
        inner = rows[(new[rows] < 0) & (parent[rows] >= 0)]
        new[inner] = new[parent[inner]]
    moved_parent = np.where(parent[keep] >= 0, new[np.maximum(parent[keep], 0)], -1)
    pruned_parent = np.where(above >= 0, new[np.maximum(above, 0)], -1)
    return (
        new[node],
        np.append(moved_parent, pruned_parent),
        np.append(frame[keep], np.full(len(above), pruned_frame)),
        np.append(heuristic[keep], np.zeros(len(above), np.int64)),
        (int(small.sum()), lost),
    )


def _join(
    samples: Table, node: Array, weight: Array, kinds: Array, limit: int
) -> tuple[dict[str, Array], int]:
    """Rows of equal slot, thread, owner, stack, state and kind of work; the slot grows until the rows fit."""
    time = samples.array("time_ns").astype(np.int64)
    state = _codes(samples.text("state"), STATES, 0)
    who, _ = group(samples.array("thread"), samples.array("owner"))
    reason = samples.text("reason").codes.astype(np.int64)
    what, _ = group(node, state, reason, kinds)
    low = int(time.min()) if len(time) else 0
    span = max(1, int(time.max()) - low) if len(time) else 1
    slot_ns = 1
    key = np.arange(len(time))
    first = key
    if len(time) > limit:
        slot_ns = max(1, span // 20_000)
        fixed = who * (int(what.max()) + 1) + what
        fixed = np.unique(fixed, return_inverse=True)[1].reshape(-1)
        while True:
            slots = (time - low) // slot_ns
            _, first, key = np.unique(
                slots * (int(fixed.max()) + 1) + fixed, return_index=True, return_inverse=True
            )
            key = key.reshape(-1)
            if len(first) <= limit or slot_ns >= span:
                break
            slot_ns = min(span, slot_ns * 4)
    summed = np.zeros(len(first), np.int64)
    np.add.at(summed, key, weight)
    start = time[first] if slot_ns == 1 else low + ((time[first] - low) // slot_ns) * slot_ns
    order = np.lexsort((who[first], start))
    at = first[order]
    return {
        "time": start[order],
        "thread": samples.array("thread")[at].astype(np.int64),
        "owner": samples.array("owner")[at].astype(np.int64),
        "stack": node[at],
        "state": state[at],
        "reason": reason[at],
        "kind": kinds[at],
        "weight": summed[order],
        "count": np.bincount(key, minlength=len(first))[order],
    }, slot_ns


def _add_samples(payload: Payload, samples: Table, rows: dict[str, Array], origin_ns: int) -> None:
    reasons = samples.text("reason")
    payload.add(
        "samples",
        time=rows["time"] - origin_ns,
        thread=rows["thread"],
        owner=rows["owner"],
        stack=rows["stack"],
        state=rows["state"],
        reason=payload.strings.column(Text(rows["reason"].astype(np.int32), reasons.values)),
        kind=rows["kind"],
        weight=rows["weight"],
        count=rows["count"],
    )


def _codes(column: Text, words: tuple[str, ...], otherwise: int) -> Array:
    """Codes of a column in the order of `words`."""
    recode = np.array([words.index(v) if v in words else otherwise for v in column.values] + [otherwise])
    result: Array = recode[column.codes].astype(np.int64)
    return result
