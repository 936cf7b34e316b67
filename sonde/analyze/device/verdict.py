"""What bounds a device: input, overhead, communication, copies, memory or compute, with the evidence.

Enters: the figures of one device in one window. Leaves: a `Verdict`.
The window is split without remainder: time in which the device computes, time in which it only communicates,
only copies, and idle time; idle time is input where the host was in its data loader, else overhead
(launching, Python, synchronising, turn-around).
    1. The largest of input, overhead, communication and copies that takes 25 % or more names the bound
       (copies: copy-bound): nothing the kernels do can win that time back.
    2. Else the kernels decide: compute-bound when at least half of the compute time is in matrix products,
       convolutions and attention, by kernel name; kernel-bound otherwise. But memory-bound where the bytes that the
       matrix calls must move take half of the device's bandwidth, and more of it than their FLOPs take of its peak.
`shares` keeps all parts, so a reader can see how close the call was.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from sonde.analyze.base.intervals import both, complement, intersect, subtract, union, window
from sonde.analyze.device.achieved import peak_shares
from sonde.analyze.device.events import Work
from sonde.analyze.device.idle import IdleSplit
from sonde.analyze.device.kernel_names import COMMUNICATION, COMPUTE, COPY, by_name, uses_tensor_cores
from sonde.analyze.device.time import DeviceTime, class_spans
from sonde.analyze.steps.breakdown import is_data_loading
from sonde.columns import Table

LOSS_SHARE = 0.25
MATH_SHARE = 0.5
_MATH = re.compile(
    r"gemm|conv|cutlass|fmha|flash|attention|_attn|wgrad|dgrad|winograd|cijk_|nvjet|mma|dot_kernel|matmul"
    r"|triton_tem_|triton_mm|triton_bmm|splitk",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Verdict:
    """What bounds one device; `shares` of the window: compute, communication, copy, input, overhead."""

    process: int
    device: int
    bound: str  # input-, overhead-, communication-, copy-, kernel- or compute-bound
    shares: dict[str, float]
    math_share: float  # of compute time in matrix products, convolutions and attention, by name
    evidence: tuple[str, ...]


@lru_cache(maxsize=65536)
def is_math(name: str) -> bool:
    """Kernels whose arithmetic intensity can exceed the ridge of a roofline: the name tells."""
    return bool(_MATH.search(name)) or uses_tensor_cores(name)


def verdict(work: Work, time: DeviceTime, idle: IdleSplit, ops: Table, device_name: str = "") -> Verdict:
    """The verdict on one device; `work` is that device's, `idle` its split with stream None."""
    frame = window(time.start_ns, time.end_ns)
    split = {c: intersect(s, frame) for c, s in class_spans(work).items()}
    only_communication = subtract(split[COMMUNICATION], split[COMPUTE])
    only_copy = subtract(split[COPY], both(split[COMPUTE], split[COMMUNICATION]))
    quiet = complement(work.spans(), time.start_ns, time.end_ns)
    loading = by_name(ops.text("name"), is_data_loading)
    input_ns = intersect(quiet, union(ops.array("start_ns")[loading], ops.array("end_ns")[loading])).total_ns
    whole = max(time.window_ns, 1)
    shares = {
        "compute": split[COMPUTE].total_ns / whole,
        "communication": only_communication.total_ns / whole,
        "copy": only_copy.total_ns / whole,
        "input": input_ns / whole,
        "overhead": (quiet.total_ns - input_ns) / whole,
    }
    compute = work.of_class(COMPUTE)
    total = int(compute.durations.sum())
    math = int(compute.durations[by_name(compute.name, is_math)].sum())
    math_share = math / total if total else 0.0
    word, evidence = (
        bound(without_edges(shares, idle, whole), math_share),
        _evidence(time, idle, shares, math_share),
    )
    near = peak_shares(work, ops, device_name) if word == "compute-bound" else None
    if near is not None and near.memory_limits:
        word = "memory-bound"
        evidence += (
            f"matrix products move {near.tbs:.2g} TB/s, {near.memory:.0%} of the device's bandwidth, "
            f"at {near.tflops:.3g} TFLOP/s, {near.compute:.0%} of its peak",
        )
    return Verdict(time.process, time.device, word, shares, math_share, evidence)


def without_edges(shares: dict[str, float], idle: IdleSplit, whole: int) -> dict[str, float]:
    """The shares without the long gaps at the edges of a trace: profiling began too early or ended too late."""
    edge = min(idle.edge_ns / whole, shares["overhead"])
    rest = max(1 - edge, 1e-9)
    return {k: (v - edge if k == "overhead" else v) / rest for k, v in shares.items()}


def bound(shares: dict[str, float], math_share: float) -> str:
    """The word for the largest loss, or for what the kernels do; see the header."""
    losses = {k: shares[k] for k in ("input", "overhead", "communication", "copy")}
    worst = max(losses, key=lambda k: losses[k])
    if losses[worst] >= LOSS_SHARE:
        return f"{worst}-bound"
    return "compute-bound" if math_share >= MATH_SHARE else "kernel-bound"


def _evidence(
    time: DeviceTime, idle: IdleSplit, shares: dict[str, float], math_share: float
) -> tuple[str, ...]:
    ms = 1e6
    lines = [
        f"device busy {time.utilisation:.1%} of {time.window_ns / ms:.1f} ms",
        f"idle {time.idle_ns / ms:.1f} ms: {idle.host_ns / ms:.1f} waiting for a launch, "
        f"{idle.sync_ns / ms:.1f} after a synchronisation, {idle.kernel_ns / ms:.1f} between queued kernels, "
        f"{idle.other_ns / ms:.1f} other",
    ]
    if idle.edge_ns > 0.01 * time.window_ns:
        lines.append(
            f"{idle.edge_ns / ms:.1f} ms of the wait for a launch at the edges of the trace, set apart"
        )
    if shares["input"] > 0.01:
        lines.append(f"idle while the program waits for its data loader: {shares['input']:.1%} of the time")
    if time.communication_ns:
        lines.append(
            f"communication {time.communication_ns / ms:.1f} ms, {time.overlap_ns / ms:.1f} behind compute"
        )
    lines.append(
        f"{math_share:.0%} of compute time in matrix products, convolutions and attention (by kernel name)"
    )
    return tuple(lines)
