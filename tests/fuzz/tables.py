"""Recordings whose tables hold other values than a program would have given them, with links that hold.

Enters: made-up recordings of a CPU and of a device run. Leaves: a recording with some columns, rows and facts of its
meta changed, in memory or through the project's own writer and reader, or an InputError where the reader refuses it.
"""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sonde import json_text
from sonde.columns import Array, Column, Table, Text
from sonde.errors import InputError
from sonde.store import build, links, typed
from sonde.store.meta import Meta
from sonde.store.reader import open_recording
from sonde.store.recording import Recording
from sonde.store.schema import TABLES
from sonde.store.schema.events import COMPILE_DETAILS
from sonde.store.writer import write_tables
from tests.fixtures.device_run import device_run
from tests.fixtures.synthetic import training_run
from tests.fuzz import structure
from tests.unit.store import recordings

THROUGH_DISK = 0.1  # the rest are checked in the same way, but never written
WHOLE = (
    0,
    1,
    -1,
    2,
    7,
    10**6,
    10**9,
    10**12,
    2**31 - 1,
    -(2**31),
    2**40,
    2**53,
    2**62,
    2**63 - 1,
    -(2**63),
    -(2**62),
)
REAL = (0.0, -1.0, 1e-300, 1e9, 1e300, -1e300, np.nan, np.inf, -np.inf, 0.1)
MARKS = (
    "step", "epoch", "region", "phase", "window", "compile", "gc", "tensors", "settings", "pause", "overhead_on",
    "overhead_off", "forward", "backward", "optimizer", "dataloader", "kernel", "graph_break", "main", "omp",
    "running", "waiting", "spinning", "imbalance", "python", "native", "op", "module", "jit", "memcpy", "memset",
    "sync", "annotation", "launch", "matmul", "convolution", "exec", "gemm", "alloc", "free", "reorder", "f32",
)  # fmt: skip
WITH_FACTS = ("compile", "settings", "tensors", "overhead_on", "overhead_off", "phase", "step")
# Keys of the JSON that text columns hold, and of meta.details and meta.machine.
KEYS = (
    *(key for keys in COMPILE_DETAILS.values() for key in keys),
    *(
        "threads",
        "interop",
        "cpu_capability",
        "environment",
        "loaders",
        "optimizers",
        "cpu_ns",
        "grad_enabled",
        "name",
    ),
    *(
        "parameter",
        "gradient",
        "state",
        "input",
        "wait_on_stream",
        "wait_on_cuda_event_id",
        "training",
        "workers",
    ),
    *(
        "Process Group Name",
        "Process Group Ranks",
        "Seq",
        "Collective name",
        "In msg nelems",
        "Group size",
        "dtype",
    ),
    *(
        "findings",
        "roofs",
        "peaks",
        "bandwidths",
        "deviceProperties",
        "distributedInfo",
        "rank",
        "capture",
        "id",
    ),
    *(
        "totalGlobalMem",
        "computeMajor",
        "warpSize",
        "numSms",
        "foreach",
        "fused",
        "pin_memory",
        "num_workers",
    ),
    *(
        "sample_hz",
        "hz",
        "cores",
        "cpus",
        "numa",
        "caches",
        "memory_bytes",
        "cpu",
        "model",
        "isa",
        "limits",
        "cgroup",
    ),
)


@cache
def bases() -> tuple[Recording, ...]:
    return training_run(4, 60), device_run(3), Recording(Meta(program="a.py"), recordings.tables())


def mutated(rng: random.Random, folder: Path) -> Recording:
    """A recording of a random number; InputError where a reader would refuse it."""
    base = rng.choice(bases())
    tables = {t.name: t for t in base.tables()}
    for _ in range(rng.randint(1, 6)):
        chosen = rng.choice([name for name in tables if len(tables[name])] or list(tables))
        tables[chosen] = _edited(tables[chosen], rng, tables)
    meta = _meta(base.meta, rng) if rng.random() < 0.4 else base.meta
    for table in tables.values():
        links.check(table, lambda name: int(tables[name].array(links.column_of(name)).max(initial=-1)))
    if rng.random() < THROUGH_DISK:
        write_tables(folder, tables.values())
        meta.write(folder)
        recording = open_recording(folder)
        list(recording.tables())
        return recording
    return Recording(meta, tables)


def _meta(meta: Meta, rng: random.Random) -> Meta:
    facts = {"machine", "details", "options", "environment", "clock", "versions"}
    told: dict[str, Any] = json.loads(json.dumps(asdict(meta)))
    for key in rng.sample(sorted(facts), 2):
        told[key] = structure.edited({**told[key], rng.choice(KEYS): structure.value(rng)}, rng)
    try:
        return replace(typed.build(Meta, json_text.loads(json.dumps(told))), files={})
    except ValueError as error:
        raise InputError(str(error)) from None


def _edited(table: Table, rng: random.Random, tables: dict[str, Table]) -> Table:
    """Some rows moved, dropped or repeated, or some values of some columns changed."""
    count = len(table)
    if not count:
        return table
    if rng.random() < 0.15 and TABLES[table.name].identity is None:
        rows = rng.choice(
            (
                np.arange(0),
                np.arange(1),
                np.arange(count)[::-1],
                np.sort(np.arange(2 * count) % count),
                np.arange(count // 2),
            )
        )
        return table.take(rows)
    columns = dict(table.columns)
    if table.name == "marks" and rng.random() < 0.5:
        some = np.array(rng.sample(range(count), min(4, count)))
        columns["kind"] = _texts(table.text("kind"), some, rng, table, rng.choice(WITH_FACTS))
        columns["name"] = _texts(
            table.text("name"), some, rng, table, rng.choice(("", "kernel", "graph_break", "forward"))
        )
        columns["extra"] = _texts(table.text("extra"), some, rng, table, _facts(rng))
    for _ in range(rng.randint(1, 3)):
        spec = rng.choice(TABLES[table.name].columns)
        old = columns[spec.name]
        some = np.array(rng.sample(range(count), rng.choice((1, min(3, count), count))))
        if spec.refers:
            if spec.name in (TABLES[table.name].identity, "parent") and rng.random() < 0.9:
                continue  # nearly always refused
            new = np.array(old)
            new[some] = rng.randint(-1, max(-1, len(tables[spec.refers]) - 1))
            columns[spec.name] = new
        elif isinstance(old, Text):
            columns[spec.name] = _texts(old, some, rng, table)
        elif spec.name != "depth" or rng.random() < 0.1:
            new = _numbers(old, some, rng, table)
            if spec.unit == "ns" and rng.random() < 0.95:  # others are refused
                new = np.clip(new, -links.FURTHEST_NS, links.FURTHEST_NS)
            columns[spec.name] = new
    return build.table(table.name, count, **columns)


def _numbers(old: Array, some: Array, rng: random.Random, table: Table) -> Array:
    new = np.array(old)
    if new.dtype == np.bool_:
        new[some] = rng.random() < 0.5
        return new
    if rng.random() < 0.3:  # another column's
        other = rng.choice([c for c in table.columns.values() if not isinstance(c, Text)])
        with np.errstate(all="ignore"):
            new[some] = other[some].astype(new.dtype)
        return new
    if new.dtype.kind == "f":
        new[some] = rng.choice(REAL)
        return new
    limits = np.iinfo(new.dtype)
    value = min(max(rng.choice(WHOLE), int(limits.min)), int(limits.max))
    new[some] = value
    return new


def _texts(old: Text, some: Array, rng: random.Random, table: Table, word: str | None = None) -> Column:
    rows = old.tolist()
    other = rng.choice([c for c in table.columns.values() if isinstance(c, Text)]).tolist()
    word = word or rng.choice(
        (None, rng.choice(MARKS), rng.choice(structure.TEXTS), _facts(rng), _facts(rng))
    )
    for row in some.tolist():
        rows[row] = other[row] if word is None and rng.random() < 0.7 else word
    # What no file can hold does not come from one.
    return Text.of([None if r is None else r.encode("utf-8", "replace").decode() for r in rows])


def _facts(rng: random.Random) -> str:
    """A JSON object with keys that are looked for, or a list, with values nobody expects, or half of it."""
    if rng.random() < 0.3:
        made = json.dumps([structure.value(rng) for _ in range(rng.randint(0, 3))])
    else:
        made = json.dumps(_object(rng, 3))
    return made if rng.random() < 0.95 else made[: len(made) // 2]


def _object(rng: random.Random, depth: int) -> dict[str, Any]:
    found = {}
    for _ in range(rng.randint(0, 12)):
        inner = _object(rng, depth - 1) if depth and rng.random() < 0.2 else structure.value(rng)
        found[rng.choice(KEYS)] = [inner] if rng.random() < 0.1 else inner
    return found
