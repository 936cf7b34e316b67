"""Edits of parsed JSON: other types, values, keys and shapes, so that what comes out still parses.

Enters: the bytes of a JSON document, or of one document per line, gzipped or not. Leaves: such bytes again. Byte
edits (`mutation`) mostly end in the parser; these reach what comes after it.
"""

from __future__ import annotations

import copy
import gzip
import json
import math
import random
from typing import Any

from tests.fuzz.mutation import mutate

NUMBERS: tuple[Any, ...] = (
    0, 1, -1, -0.0, 0.5, 1e-320, 1e19, -1e19, 1e308, -1e308, 1e300, math.nan, math.inf, -math.inf,
    2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**62, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**40, 10**400,
)  # fmt: skip
TEXTS = (
    "", " ", "0", "-1", "nan", "1e400", "null", "[]", "{}", '{"a": 1}', "[[1, 2], []]", "a;b;c", "x" * 5000,
    "\x00", "\x1b[2J\r\n", "\u202e\u05d0", "\ud800", "\udcff\udc00", "\U0001f600", "../../x", "=1+1", "</script>",
    "%s%n{0}", "ProfilerStep#1", "ProfilerStep#-9", "nn.Module: Net_0", "a.py(3): f", "aten::mm", "cuda", "99" * 3000,
)  # fmt: skip
SHAPES: tuple[Any, ...] = (
    [],
    {},
    [[]],
    [None],
    {"": None},
    [0, "x", None, {}],
    {"name": {"name": []}},
    [[1, 2], [3]],
)
DEEPEST = 200  # deeper ones are left to the byte edits; Python's own writer ends at about 1000


def mutate_json(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """One to eight edits of the parsed document; one input in six gets byte edits, too or instead."""
    packed = data[:2] == b"\x1f\x8b"
    try:
        plain = gzip.decompress(data) if packed else data
        made = _written(edited(json.loads(plain), rng), rng)
    except (ValueError, OSError, EOFError, RecursionError):  # no JSON, or none that Python reads
        return mutate(data, rng, others)
    if rng.random() < 1 / 6:
        made = mutate(made, rng, others)
    return gzip.compress(made, 1) if packed and rng.random() < 0.5 else made


def mutate_lines(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """The same for a document per line: some lines are edited, some repeated, dropped or moved."""
    lines = data.splitlines()
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(lines))
        lines[at] = mutate_json(lines[at] or b"{}", rng, others)
        if rng.random() < 0.2:
            lines.insert(rng.randrange(len(lines)), lines[at])
    if rng.random() < 0.2:
        rng.shuffle(lines)
    return b"\n".join(lines) + b"\n"


def edited(document: Any, rng: random.Random) -> Any:
    """The document with some of its values, keys and lists changed."""
    holder = [document]
    for _ in range(rng.randint(1, 8)):
        parent, key = _place(holder, rng)
        rng.choice(_EDITS)(parent, key, rng, holder)
        if not holder:
            holder.append(value(rng))
    return holder[0]


def value(rng: random.Random) -> Any:
    """Something that a reader may not expect."""
    kind = rng.random()
    if kind < 0.4:
        return rng.choice(NUMBERS)
    if kind < 0.7:
        return rng.choice(TEXTS)
    return rng.choice((None, True, False)) if kind < 0.8 else copy.deepcopy(rng.choice(SHAPES))


def _written(document: Any, rng: random.Random) -> bytes:
    text = json.dumps(document, ensure_ascii=rng.random() < 0.7, indent=rng.choice((None, None, 1)))
    return text.encode("utf-8", "surrogatepass")


def _place(holder: list[Any], rng: random.Random) -> tuple[Any, Any]:
    """A container and one of its keys: a walk down from the top that stops anywhere."""
    parent: Any = holder
    key: Any = 0
    for _ in range(DEEPEST):
        inner = parent[key]
        if not isinstance(inner, (dict, list)) or not inner or rng.random() < 0.08:
            break
        parent, key = inner, rng.choice(list(inner)) if isinstance(inner, dict) else rng.randrange(len(inner))
    return parent, key


def _replace(parent: Any, key: Any, rng: random.Random, holder: list[Any]) -> None:
    parent[key] = value(rng)


def _same_kind(parent: Any, key: Any, rng: random.Random, holder: list[Any]) -> None:
    """Another value of the type that is there."""
    old = parent[key]
    if isinstance(old, bool):
        parent[key] = not old
    elif isinstance(old, (int, float)):
        changed = rng.choice(
            (lambda n: -n, lambda n: n + 1, lambda n: n * 1000, lambda n: n / 7, lambda n: 0 * n)
        )
        try:
            parent[key] = rng.choice(NUMBERS) if rng.random() < 0.5 else changed(old)
        except OverflowError:
            parent[key] = 0
    elif isinstance(old, str):
        cut = rng.randrange(len(old) + 1)
        parent[key] = rng.choice((rng.choice(TEXTS), old[:cut], old + rng.choice(TEXTS), old.upper()))
    elif isinstance(old, list):
        parent[key] = rng.choice((old[::-1], old[:1], old + old[:20], old[1:]))


def _delete(parent: Any, key: Any, rng: random.Random, holder: list[Any]) -> None:
    del parent[key]


def _rename(parent: Any, key: Any, rng: random.Random, holder: list[Any]) -> None:
    if isinstance(parent, dict):
        new = rng.choice((*TEXTS[:12], *map(str, parent), key + "x", key.lower(), key.upper()))
        parent[new] = parent.pop(key)


def _nest(parent: Any, key: Any, rng: random.Random, holder: list[Any]) -> None:
    for _ in range(rng.choice((1, 1, 2, DEEPEST))):
        parent[key] = [parent[key]] if rng.random() < 0.5 else {"name": parent[key]}


def _borrow(parent: Any, key: Any, rng: random.Random, holder: list[Any]) -> None:
    """A value from elsewhere in the document. Not of a container's own parents: that would be a circle."""
    other, place = _place(holder, rng)
    if len(json.dumps(other[place])) < 20_000:
        parent[key] = copy.deepcopy(other[place])


def _repeat(parent: Any, key: Any, rng: random.Random, holder: list[Any]) -> None:
    if isinstance(parent, list) and len(parent) < 2000:
        again = [copy.deepcopy(parent[key]) for _ in range(rng.choice((1, 2, 50)))]
        if len(json.dumps(parent[key])) < 2000:
            parent[key:key] = again
    elif isinstance(parent, dict):
        parent[f"{key}{rng.randrange(3)}"] = copy.deepcopy(parent[key]) if len(parent) < 200 else 0


_EDITS = (_replace, _replace, _same_kind, _same_kind, _same_kind, _delete, _rename, _nest, _borrow, _repeat)
