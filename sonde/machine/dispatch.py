"""Why oneDNN did not take a better kernel: its own dispatch log, for problems that ran badly.

Enters: weak primitives of a recording (kind, direction, problem, layouts). Each
is run again, alone, by the user's torch in a child process that has
ONEDNN_VERBOSE=dispatch,profile_create. Leaves: the implementation chosen there
and the reasons printed while better ones were passed over.
Kinds that torch cannot be asked for alone (graph partitions, int8) are left out.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass

from sonde.analyze.primitives import problems
from sonde.ingest.verbose.onednn_grammar import parse_call, split_prefix
from sonde.machine.other_python import Request, printed_by

_TIMEOUT_S = 90

_PROGRAM = r"""
import json, sys, torch
from torch.nn import functional as F
types = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
for number, p in enumerate(json.loads(sys.argv[1])):
    print(f"sonde-problem {number}", flush=True)
    try:
        kind, backward, t = p["kind"], p["direction"].startswith("backward"), types[p["type"]]
        def tensor(dims):
            made = torch.ones(dims, dtype=t)
            if p["channels_last"] and len(dims) == 4:
                made = made.contiguous(memory_format=torch.channels_last)
            return made.requires_grad_(backward)
        with torch.set_grad_enabled(p["direction"] != "forward_inference"):
            if kind == "rnn":
                layer = torch.nn.LSTM(p["input"], p["hidden"]).to(t)
                out = layer(tensor(p["source"]))[0]
            elif kind == "matmul":
                out = torch.mm(tensor(p["source"]), tensor(p["weight"]))
            elif kind == "inner_product":
                out = torch.ops.mkldnn._linear_pointwise(
                    tensor(p["source"]), tensor(p["weight"]), None, "none", [], "")
            else:
                axes = len(p["source"]) - 2
                name = ("conv_transpose" if kind == "deconvolution" else "conv") + f"{axes}d"
                out = getattr(F, name)(tensor(p["source"]), tensor(p["weight"]), None,
                                       stride=p["stride"], padding=p["pad"], dilation=p["dilation"],
                                       groups=p["groups"])
        if backward:
            out.sum().backward()
    except Exception as error:
        print(f"sonde-failed {number} {type(error).__name__}: {error}".splitlines()[0], flush=True)
"""


@dataclass(frozen=True)
class Answer:
    """What the library said about one problem."""

    kind: str
    shape: str
    direction: str
    chosen: str | None  # implementation taken in the child; None when nothing was created
    reasons: tuple[str, ...]  # as printed, in the order of its list of implementations
    failed: str | None = None


@dataclass(frozen=True)
class Question:
    """A primitive to ask about, by the columns of the table `primitives`."""

    kind: str
    shape: str
    direction: str
    layouts: str
    data_type: str = "f32"


def ask(questions: list[Question], python: str | None = None) -> list[Answer]:
    """Run the problems again and collect the reasons."""
    given = [(q, problem) for q in questions if (problem := to_torch(q)) is not None]
    if not given:
        return []
    environment = {**os.environ, "ONEDNN_VERBOSE": "dispatch,profile_create"}
    environment.pop("ONEDNN_VERBOSE_TIMESTAMP", None)
    request = Request(_PROGRAM, "sonde-problem 0", "reasons", _TIMEOUT_S)
    problems = json.dumps([problem for _, problem in given])
    return parse_answers(printed_by(request, python, environment, (problems,)), [q for q, _ in given])


def parse_answers(output: str, questions: list[Question]) -> list[Answer]:
    """Split the child's output by problem and read what the library said about each."""
    parts = re.split(r"^sonde-problem (\d+)$", output, flags=re.MULTILINE)
    answers = []
    for number, text in zip(parts[1::2], parts[2::2], strict=True):
        question = questions[int(number)]
        failed = re.search(rf"^sonde-failed {number} (.+)$", text, re.MULTILINE)
        chosen, reasons = explain(text, question.kind, question.direction)
        answers.append(
            Answer(
                question.kind,
                question.shape,
                question.direction,
                chosen,
                reasons,
                failed[1] if failed else None,
            )
        )
    return answers


def explain(log: str, kind: str, direction: str) -> tuple[str | None, tuple[str, ...]]:
    """The implementation created for `kind` in a dispatch log, and the reasons printed before it."""
    reasons: list[str] = []
    for line in log.splitlines():
        prefix = split_prefix(line)
        if prefix is None or len(prefix.rest) < 2:
            continue
        if prefix.rest[0] == "create:dispatch" and prefix.rest[1] == kind:
            reason = _reason(prefix.rest[2:])
            if reason not in reasons:
                reasons.append(reason)
            continue
        call = parse_call(line.rpartition(",")[0])
        if call is None or not call.event.startswith("create:cache_miss") or call.kind != kind:
            continue
        if call.direction == direction or not direction.startswith("backward"):
            return call.implementation, tuple(reasons)
        reasons = []  # that was the forward pass; the reasons so far were about it
    return None, tuple(reasons)


def _reason(fields: list[str]) -> str:
    """`[engine,primitive,implementation,…,]message,file:line` → `implementation: message (file:line)`."""
    place = fields[-1].rsplit("/", 1)[-1]
    if fields and fields[0] in ("cpu", "gpu") and len(fields) > 9:
        return f"{fields[2].removesuffix(':undef').rstrip(':')}: {','.join(fields[8:-1])} ({place})"
    return f"{','.join(fields[:-1])} ({place})"


def to_torch(question: Question) -> dict[str, object] | None:
    """The call of torch that makes this primitive; None when there is none."""
    if question.data_type not in ("f32", "bf16", "f16"):
        return None
    base: dict[str, object] = {
        "kind": question.kind,
        "direction": question.direction,
        "type": question.data_type,
    }
    base["channels_last"] = re.search(r"src\w*:\S*acdb", question.layouts) is not None
    keys = problems.keyed(question.shape)
    if question.kind == "matmul":
        sides = [problems.dims_of(part) for part in question.shape.split(":")]
        if len(sides) != 2 or any(s is None or len(s) != 2 for s in sides):
            return None
        return {**base, "source": sides[0], "weight": sides[1]}
    if keys is None:
        return None
    v = {key: int(value) for key, value in keys.items()}
    if question.kind == "inner_product":
        if keys.keys() != {"mb", "ic", "oc"}:
            return None
        return {**base, "source": [v["mb"], v["ic"]], "weight": [v["oc"], v["ic"]]}
    if question.kind == "rnn":
        if not {"t", "mb", "slc", "dhc"} <= v.keys():
            return None
        return {**base, "source": [v["t"], v["mb"], v["slc"]], "input": v["slc"], "hidden": v["dhc"]}
    if question.kind not in ("convolution", "deconvolution") or not {"mb", "ic", "oc"} <= v.keys():
        return None
    axes = [a for a in "dhw" if f"i{a}" in v and f"k{a}" in v]
    groups = v.get("g", 1)
    kernel = [v[f"k{a}"] for a in axes]
    first, second = (v["ic"], v["oc"]) if question.kind == "deconvolution" else (v["oc"], v["ic"])
    return {
        **base,
        "source": [v["mb"], v["ic"], *(v[f"i{a}"] for a in axes)],
        "weight": [first, second // groups, *kernel],
        "stride": [v.get(f"s{a}", 1) for a in axes],
        "pad": [v.get(f"p{a}", 0) for a in axes],
        "dilation": [v.get(f"d{a}", 0) + 1 for a in axes],
        "groups": groups,
    }
