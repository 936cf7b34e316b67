"""Rule 9, cudnn.benchmark off where shapes stay the same.

Condition: cuDNN convolutions take at least 20 % of the device's window, were called with benchmark off (an
    argument of the recorded calls), and have at most 8 distinct shapes over at least 3 steps.
Saving: only a trial can tell which algorithm wins: 0 to 30 % of the convolutions' time is usual (ours).
Not for: benchmark on already, traces without the arguments of calls, shapes that change (each new one is searched
    for anew), runs that must be bitwise reproducible.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.calls import Calls, parsed
from sonde.insights.devices import device_saving, devices
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.20  # catalogue, rule 9
MOST_SHAPES = 8
WON_LOW, WON_HIGH = 0.0, 0.3
CONVOLUTION = r"^aten::cudnn_convolution\w*$"
BENCHMARK_AT = {
    "aten::cudnn_convolution": 6,
    "aten::cudnn_convolution_transpose": 7,
}  # torch's native_functions.yaml


def judge(subject: Subject) -> Iterator[Finding]:
    calls = subject.calls
    rows = np.flatnonzero(calls.named(CONVOLUTION))
    if not len(rows):
        return
    flags = {_benchmark(calls, r) for r in rows.tolist()} - {None}
    if not flags:
        raise NotEnough(
            "the trace does not hold the arguments of convolutions: record with record_shapes=True"
        )
    shapes = {calls.ops.text("shapes")[r] for r in rows.tolist()}
    share = _device_share(subject, calls, rows)
    if True in flags or len(shapes) > MOST_SHAPES or share < LEAST_SHARE:
        return
    top = calls.heaviest(calls.named(CONVOLUTION))
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"cuDNN chooses its algorithms by heuristic for {share:.0%} of the time",
            why="With benchmark on, cuDNN tries its algorithms once per shape and keeps the fastest.",
            evidence=(
                Evidence(
                    f"{len(rows)} convolutions of {len(shapes)} shapes, all with benchmark off",
                    "op",
                    top.name,
                    top.file,
                    top.line,
                ),
            ),
            saving=device_saving(subject, WON_LOW * share, WON_HIGH * share),
            confidence="low",
            fix="torch.backends.cudnn.benchmark = True   # once, at the start; shapes must stay the same",
            experiment=Experiment(
                "flag",
                code="import torch; torch.backends.cudnn.benchmark = True",
                note="algorithms may differ from run to run, and with them the last bits",
            ),
            resource="device",
        )
    )


def _benchmark(calls: Calls, row: int) -> bool | None:
    """The argument `benchmark` of a recorded call; None when arguments were not recorded."""
    inputs = parsed(calls.ops.text("inputs")[row])
    at = BENCHMARK_AT.get(calls.ops.text("name")[row] or "", 6)
    word = str(inputs[at]) if len(inputs) > at else ""
    return {"True": True, "False": False}.get(word)


def _device_share(subject: Subject, calls: Calls, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    """Kernel time that these calls launched, as a share of the devices' windows."""
    kernels = subject.table("kernels")
    mine = np.isin(kernels.array("op"), calls.ops.array("op")[rows])
    spent = float((kernels.array("end_ns") - kernels.array("start_ns"))[mine].sum())
    return spent / max(float(sum(d.time.window_ns for d in devices(subject))), 1.0)


RULE = Rule(
    "cudnn_benchmark",
    9,
    "operator calls with arguments",
    judge,
    scope="gpu",
    breadth=1,
    trial=True,
    way="in another format",
)
