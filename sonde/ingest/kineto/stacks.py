"""Where an op was called from: Python stack, user's line and module path.

Traces with python_function events have the frames as rows around the op; older
ones give a "Call stack" argument, leaf first. Both end as one string per
distinct stack, leaf last, frames joined by ';'.
"""

from __future__ import annotations

import numpy as np

from sonde.analyze.base import call_tree
from sonde.columns import Array, Column, Interner, Text, distinct
from sonde.ingest.sampled import python_frames

_STACK_CHARACTERS = 64_000_000  # beyond this, only the frames nearest to the op are written out
_NEAREST = 8
_PATH_CHARACTERS = 4000  # of a module path; its inner end is kept
_MODULE = "nn.Module: "
NAMELESS = "(no name)"


def python_columns(
    parent: Array, name: Text, kind: Text, call_stack: Text, hierarchy: Text
) -> tuple[dict[str, Column], int]:
    """The columns module, file, line and stack of `ops`, and how many stacks had to be cut."""
    is_frame = kind.matches(("python", "module"))
    if is_frame.any():
        stack, file, line, cut = _from_rows(parent, name, is_frame)
        module = _modules(parent, name, kind.equals("module"))
    else:
        cut = 0
        stack, file, line = _from_argument(call_stack)
        module = Text.full(len(name), None)
    if any(hierarchy.values):
        module = _first_known(hierarchy, module)
    return {"module": module, "file": file, "line": line, "stack": stack}, cut


def _from_rows(parent: Array, name: Text, is_frame: Array) -> tuple[Text, Text, Array, int]:
    node, node_parent, node_label = call_tree.chains(parent, is_frame, name.codes)
    called = [*name.values, NAMELESS]  # label -1 reads the last entry
    frames = [called[label] for label in node_label.tolist()]
    parents = node_parent.tolist()
    # A frame's own row needs no stack: the tree has it. Ops do.
    used = distinct(node[~is_frame])
    used = used[used >= 0]
    depth = np.zeros(len(frames) + 1, np.int64)
    length = np.zeros(len(frames) + 1, np.int64)
    for i, above in enumerate(parents):  # parents come first
        depth[i] = depth[above] + 1 if above >= 0 else 1
        length[i] = (length[above] + 1 if above >= 0 else 0) + len(frames[i])
    limit = _NEAREST if int(length[used].sum()) > _STACK_CHARACTERS else None
    cut = 0 if limit is None else int((depth[used] > limit).sum())
    texts: list[str] = []
    code_of_node = np.full(len(frames) + 1, -1, np.int32)
    for i in used.tolist():
        chain: list[str] = []
        at = i
        while at >= 0 and (limit is None or len(chain) < limit):
            chain.append(frames[at])
            at = parents[at]
        code_of_node[i] = len(texts)
        texts.append(";".join(reversed(chain)))
    codes = np.where(is_frame, -1, code_of_node[node]).astype(np.int32)
    # The user's line: the nearest frame of user code in the chain.
    user = np.full(len(frames) + 1, -1, np.int64)
    is_user = {label: python_frames.is_user_frame(called[label]) for label in set(node_label.tolist())}
    for i, above in enumerate(parents):
        user[i] = i if is_user[int(node_label[i])] else (user[above] if above >= 0 else -1)
    interner = Interner()
    file_code = np.full(len(frames) + 1, -1, np.int32)
    line_of = np.full(len(frames) + 1, -1, np.int32)
    for i in distinct(user[user >= 0]).tolist():
        frame = python_frames.parse(frames[i])
        file_code[i] = interner(frame.file)
        line_of[i] = frame.line
    of_row = user[node]  # node -1 reads the last entry, which is -1
    return Text(codes, texts), Text(file_code[of_row], interner.values), line_of[of_row], cut


def _from_argument(call_stack: Text) -> tuple[Text, Text, Array]:
    files = Interner()
    stacks: list[str] = []
    code, file_code, line_of = [], [], []
    for value in call_stack.values:
        leaf_first = [f for f in value.split(";") if f]
        code.append(len(stacks) if leaf_first else -1)
        if leaf_first:
            stacks.append(";".join(reversed(leaf_first)))
        frame = python_frames.user_frame(leaf_first)
        file_code.append(files(frame.file))
        line_of.append(frame.line)
    codes = call_stack.codes
    return (
        Text(np.array([*code, -1], np.int32)[codes], stacks),
        Text(np.array([*file_code, -1], np.int32)[codes], files.values),
        np.array([*line_of, -1], np.int32)[codes],
    )


def _modules(parent: Array, name: Text, is_module: Array) -> Text:
    node, node_parent, node_label = call_tree.chains(parent, is_module, name.codes)
    called = [*name.values, _MODULE + NAMELESS]
    paths: list[str] = []
    for label, above in zip(node_label.tolist(), node_parent.tolist(), strict=True):
        own = called[label][len(_MODULE) :]
        path = f"{paths[above]}.{own}" if above >= 0 else own
        # A module path of a thousand levels is no one's; written out at each level it would fill the memory.
        paths.append(path if len(path) <= _PATH_CHARACTERS else "…" + path[-_PATH_CHARACTERS:])
    return Text(node.astype(np.int32), paths)


def _first_known(first: Text, second: Text) -> Text:
    """Row by row `first` where it is a non-empty string, else `second`."""
    joined = Text.concat([first, second])
    own, other = joined.codes[: len(first)], joined.codes[len(first) :]
    known = np.array([bool(v) for v in joined.values] + [False])[own]
    return Text(np.where(known, own, other).astype(np.int32), joined.values)
