"""One line of a oneDNN verbose log, of any version, as a typed record.

    marker,[vN,][timestamp,][component,]operation,…

Enters: the line without the time at its end. Leaves: a `Call` (execution,
creation, compilation), a `Remark` (header or diagnostic), or None when the
line fits no version: the caller counts and keeps it.

Fields are taken from both ends because the attributes in the middle may hold
commas; the number of fields tells the version apart:
    v0.12-   primitive,direction,layouts,auxiliary,problem
    v0.13+   primitive,implementation,direction,layouts,auxiliary,problem
    v1.0     engine,primitive,implementation,direction,layouts,auxiliary,problem
    v1.1+    engine,primitive,implementation,direction,layouts,attributes,auxiliary,problem
    graph    engine,id,kind,op;names,data:…,tensors,fpm:…[,scratchpad:N][,implementation],backend
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Union

MARKERS = ("mkldnn_verbose", "dnnl_verbose", "onednn_verbose", "onednn_graph_verbose")
COMPONENTS = frozenset({"primitive", "graph", "ukernel", "common"})
DIRECTIONS = frozenset(
    {"forward_training", "forward_inference", "forward_scoring", "backward", "backward_data"}
    | {"backward_weights", "backward_bias", "undef", "backward_undef", "forward"}
)

_VERSION = re.compile(r"v\d+")
_TIMESTAMP = re.compile(r"\d{1,18}\.\d{1,18}")
_OPERATION = re.compile(r"(exec|create|create_nested|compile)(:[a-z_]+)?")
_ENGINE = re.compile(r"(cpu|gpu)(:?\d+)?|cpu2gpu|gpu2cpu")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Call:
    """What a profiling line says, its time aside."""

    event: str
    engine: str | None
    kind: str
    implementation: str | None
    direction: str
    layouts: str
    attributes: str
    auxiliary: str
    shape: str


@dataclass(frozen=True)
class Remark:
    """A line without a time: header information or a diagnostic."""

    topic: str  # info, dispatch, check, error, …
    text: str


Record = Union[Call, Remark]


@dataclass(frozen=True)
class Prefix:
    """The start of a line: what comes before the operation."""

    marker: str
    component: str | None
    timestamp: str | None
    rest: list[str]


def split_prefix(line: str) -> Prefix | None:
    """Take marker, version, timestamp and component off a line that starts with its marker."""
    fields = line.split(",")
    if fields[0] not in MARKERS:
        return None
    at = 1
    timestamp = component = None
    if at < len(fields) and _VERSION.fullmatch(fields[at]):
        at += 1
    if at < len(fields) and _TIMESTAMP.fullmatch(fields[at]):
        timestamp = fields[at]
        at += 1
    if at < len(fields) and fields[at] in COMPONENTS:
        component = fields[at]
        at += 1
    return Prefix(fields[0], component, timestamp, fields[at:])


def parse_remark(line: str) -> Remark | None:
    """A whole line that carries no time."""
    prefix = split_prefix(line)
    if prefix is None or not prefix.rest:
        return None
    topic, text = prefix.rest[0], ",".join(prefix.rest[1:])
    if topic in ("info", "error", "warning", "warn", "debuginfo"):
        return Remark(topic, text)
    stage, _, what = topic.partition(":")
    if stage in ("create", "exec", "compile") and what in ("check", "dispatch"):
        return Remark(what, text)
    return None


def parse_call(head: str) -> Call | None:
    """A profiling line without the time at its end."""
    prefix = split_prefix(head)
    if prefix is None or not prefix.rest or not _OPERATION.fullmatch(prefix.rest[0]):
        return None
    event, fields = prefix.rest[0], prefix.rest[1:]
    if event.endswith((":check", ":dispatch")):
        return None
    if prefix.component == "graph" or prefix.marker == "onednn_graph_verbose":
        return _graph(event, fields)
    if fields and _ENGINE.fullmatch(fields[0]):
        return _with_engine(event, fields)
    return _without_engine(event, fields)


def _with_engine(event: str, fields: list[str]) -> Call | None:
    if len(fields) < 7:
        return None
    engine, kind, implementation, direction, layouts = fields[:5]
    attributes = ",".join(fields[5:-2])
    return _checked(
        Call(event, engine, kind, implementation, direction, layouts, attributes, fields[-2], fields[-1])
    )


def _without_engine(event: str, fields: list[str]) -> Call | None:
    if len(fields) == 5:
        kind, direction, layouts, auxiliary, shape = fields
        return _checked(Call(event, None, kind, None, direction, layouts, "", auxiliary, shape))
    if len(fields) == 6:
        kind, implementation, direction, layouts, auxiliary, shape = fields
        return _checked(Call(event, None, kind, implementation, direction, layouts, "", auxiliary, shape))
    return None


def _graph(event: str, fields: list[str]) -> Call | None:
    anchor = next((i for i, text in enumerate(fields) if text.startswith("fpm:")), -1)
    # engine, id, kind, names, formats, tensors come before the anchor; a backend after it.
    if anchor < 6 or anchor + 1 >= len(fields) or not _ENGINE.fullmatch(fields[0]):
        return None
    after = fields[anchor + 1 :]
    backend = after[-1]
    extra = [text for text in after[:-1] if text.startswith("scratchpad:")]
    named = [text for text in after[:-1] if not text.startswith("scratchpad:")]
    if len(named) > 1:
        return None
    tensors = fields[anchor - 1]
    shape = ":".join(part.split(":")[4] for part in tensors.split(" ") if part.count(":") >= 4)
    return Call(
        event=event,
        engine=fields[0],
        kind=f"graph:{fields[2]}",
        implementation=f"{named[0]}:{backend}" if named else backend,
        direction="undef",
        layouts=tensors,
        attributes=" ".join([fields[anchor], *extra]),
        auxiliary=",".join(fields[3 : anchor - 1]),
        shape=shape,
    )


def _checked(call: Call) -> Call | None:
    """None unless the fields that have a known vocabulary hold a word of it."""
    # Before v2.3 a field that overflowed its buffer is printed as "#".
    if not (_NAME.fullmatch(call.kind) or call.kind == "#"):
        return None
    return call if call.direction in DIRECTIONS or call.direction in ("", "#") else None
