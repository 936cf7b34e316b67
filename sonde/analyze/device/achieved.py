"""How fast matrix operators ran against what the device can do: achieved FLOP/s, bandwidth, MFU.

Enters: `Work`, `ops`, the device's name. Leaves: `Achieved`.
    achieved FLOP/s of a group = Σ flops / Σ device time of its calls (their kernels, children included)
    MFU = Σ flops of all matrix calls in the trace / (window × peak), with the vendor's dense 16-bit peak
    covered = device time of calls with known flops / device time of all matrix calls
What is not known is None: a device that is not in the table has no peak, and none is borrowed; a share of
the peak is told for 16-bit operands only, because the table is of dense 16-bit figures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.analyze.device.by_op import CallTimes, call_times
from sonde.analyze.device.events import Work
from sonde.analyze.device.kernel_table import groups
from sonde.analyze.ops.costs import op_costs
from sonde.columns import Table

# Dense fp16/bf16 tensor peaks in TFLOP/s, as the vendors print them; the first pattern that fits counts.
PEAKS_TFLOPS: tuple[tuple[str, float], ...] = (
    (r"GB200", 2500.0),
    (r"B200", 2250.0),
    (r"B100", 1800.0),
    (r"H200", 989.0),
    (r"H100.*PCIe", 756.0),
    (r"H100.*NVL", 835.0),
    (r"H100", 989.0),
    (r"A100|A800", 312.0),
    (r"A40\b", 149.7),
    (r"A30\b", 165.0),
    (r"L40S", 362.0),
    (r"L4\b", 121.0),
    (r"V100", 125.0),
    (r"RTX 4090", 165.2),
    (r"RTX 3090", 71.0),
    (r"MI355", 2500.0),
    (r"MI325", 1307.0),
    (r"MI300X", 1307.0),
    (r"MI250X", 383.0),
)
# Bandwidth of device memory in TB/s, likewise.
BANDWIDTHS_TBS: tuple[tuple[str, float], ...] = (
    (r"B200", 8.0),
    (r"B100", 8.0),
    (r"H200", 4.8),
    (r"H100.*PCIe", 2.0),
    (r"H100.*NVL", 3.9),
    (r"H100", 3.35),
    (r"A100.*40GB", 1.555),
    (r"A100|A800", 2.039),
    (r"A40\b", 0.696),
    (r"A30\b", 0.933),
    (r"L40S", 0.864),
    (r"L4\b", 0.3),
    (r"V100", 0.9),
    (r"RTX 4090", 1.008),
    (r"RTX 3090", 0.936),
    (r"MI355", 8.0),
    (r"MI325", 6.0),
    (r"MI300X", 5.3),
    (r"MI250X", 3.277),
)


@dataclass(frozen=True)
class AchievedRow:
    """Calls of one operator with one element size."""

    name: str
    item_bytes: int  # 2 for half and bfloat16, 4 for float, 0 when unknown
    calls: int
    device_ns: int
    flops: float
    tflops: float | None  # achieved; None when no device time is linked
    gbs: float | None  # bytes that must move / device time: a lower bound of the bandwidth used
    peak_share: float | None


@dataclass(frozen=True)
class Achieved:
    """One device."""

    device_name: str
    peak_tflops: float | None
    rows: tuple[AchievedRow, ...]
    flops: float
    covered: float | None
    mfu: float | None
    why_unknown: str  # "" when mfu is told


def device_name_in(details: Mapping[str, Any]) -> str:
    """The name of the devices in a recording's details; "" when none or more than one model is there."""
    told = details.get("deviceProperties")
    names = (
        {str(d["name"]) for d in told if isinstance(d, dict) and d.get("name")}
        if isinstance(told, list)
        else set()
    )
    return names.pop() if len(names) == 1 else ""


def peak_tflops(device_name: str) -> float | None:
    """Dense 16-bit peak of a device by its name; None for a device that is not in the table."""
    return next((peak for pattern, peak in PEAKS_TFLOPS if re.search(pattern, device_name)), None)


def bandwidth_tbs(device_name: str) -> float | None:
    """Memory bandwidth of a device by its name; None for a device that is not in the table."""
    return next((rate for pattern, rate in BANDWIDTHS_TBS if re.search(pattern, device_name)), None)


@dataclass(frozen=True)
class PeakShares:
    """How near the matrix calls with known costs come to the device's two peaks, by their device time."""

    tbs: float
    memory: float  # share of the memory bandwidth
    tflops: float
    compute: float  # share of the dense 16-bit peak

    @property
    def memory_limits(self) -> bool:
        return self.memory >= AT_PEAK and self.memory > self.compute


AT_PEAK = 0.5  # of the bandwidth, by bytes that must move at least: memory is the limit (ours)


def peak_shares(work: Work, ops: Table, device_name: str) -> PeakShares | None:
    """None where the device, the shapes or the device time of matrix calls are not known."""
    peak, bandwidth = peak_tflops(device_name), bandwidth_tbs(device_name)
    if peak is None or bandwidth is None:
        return None
    costs, spent = op_costs(ops), call_times(work, ops).total_ns
    known = costs.is_matrix & (spent > 0) & np.isfinite(costs.flops) & np.isfinite(costs.bytes)
    device_ns = float(spent[known].sum())
    if not device_ns:
        return None
    tbs = float(costs.bytes[known].sum()) / device_ns / 1e3
    tflops = float(costs.flops[known].sum()) / device_ns / 1e3
    return PeakShares(tbs, tbs / bandwidth, tflops, tflops / peak)


def achieved(
    work: Work, ops: Table, device_name: str, window_ns: int, times: CallTimes | None = None
) -> Achieved:
    """Achieved rates of the matrix operators of one device's trace."""
    costs = op_costs(ops)
    device_ns = (times or call_times(work, ops)).total_ns
    ran = costs.is_matrix & (device_ns > 0)
    known = ran & np.isfinite(costs.flops)
    peak = peak_tflops(device_name)
    names = ops.text("name")
    rows = []
    index = np.flatnonzero(known)
    for part in groups(names.codes[index].astype(np.int64) * 16 + costs.item_bytes[index]):
        mine = index[part]
        spent, flops = int(device_ns[mine].sum()), float(costs.flops[mine].sum())
        item = int(costs.item_bytes[mine[0]])
        tflops = flops / spent / 1e3
        rows.append(
            AchievedRow(
                names[int(mine[0])] or "",
                item,
                len(mine),
                spent,
                flops,
                tflops,
                float(np.nansum(costs.bytes[mine])) / spent if item else None,
                tflops / peak if peak and item == 2 else None,
            )
        )
    flops = float(costs.flops[known].sum())
    matrix_ns = int(device_ns[ran].sum())
    covered = int(device_ns[known].sum()) / matrix_ns if matrix_ns else None
    shaped = bool((costs.is_matrix & np.isfinite(costs.flops)).any())
    why = _unknown(device_name, peak, flops, costs.item_bytes[known], shaped)
    return Achieved(
        device_name,
        peak,
        tuple(sorted(rows, key=lambda r: -r.device_ns)),
        flops,
        covered,
        None if why or not peak else flops / (window_ns / 1e9) / (peak * 1e12),
        why,
    )


def _unknown(device_name: str, peak: float | None, flops: float, item_bytes: np.ndarray, shaped: bool) -> str:
    if not flops and shaped:
        return "no kernel is linked to the matrix operators, whose shapes are known"
    if not flops:
        return "no matrix operator has shapes: record with record_shapes=True"
    if peak is None:
        return f"the peak of {device_name or 'this device'} is not known"
    if not (item_bytes == 2).any():
        return "no matrix operator runs in 16 bits; the peak known is of 16-bit tensor cores"
    return ""
