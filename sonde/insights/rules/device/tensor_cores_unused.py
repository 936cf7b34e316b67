"""Rules 42 and 44, tensor cores unused: matrix products in full float32 on a GPU that has tensor cores.

Condition: the device has tensor cores (by its name or compute capability), matrix products and convolutions
    take at least 20 % of the window, and less than 1 % of kernel time has a tensor-core name.
Saving: TF32 or half precision is two to eight times as fast on these kernels: 30 to 80 % of their time.
Not for: devices without tensor cores, or not known; kernels whose names do not tell (AMD's older names).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sonde.analyze.device.verdict import is_math
from sonde.analyze.ranks.summary import RankSummary
from sonde.insights.devices import device_saving, devices, mean_rank_share
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_MATH, MOST_USED = 0.20, 0.01
HAS_CORES = re.compile(
    r"V100|T4\b|TITAN V|RTX|A10|A100|A30|A40|H100|H200|B200|GB200|L4\b|L40|Quadro GV100", re.IGNORECASE
)
AMPERE = re.compile(r"A10|A100|A30|A40|H100|H200|B200|L4\b|L40|RTX (30|40|50|A)", re.IGNORECASE)


def judge(subject: Subject) -> Iterator[Finding]:
    name = device_name(subject)
    if not name:
        raise NotEnough("the trace does not name its device")
    if not HAS_CORES.search(name):
        return
    known = [d.time.tensor_core_share for d in devices(subject) if d.time.tensor_core_share is not None]
    if not known:
        raise NotEnough("the trace does not tell which kernels use tensor cores")
    math = mean_rank_share(subject, _math_ns)
    used = sum(known) / len(known)
    if math < LEAST_MATH or used > MOST_USED:
        return
    ampere = bool(AMPERE.search(name))
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{math:.0%} of the time is float32 matrix work that leaves the tensor cores of {name} idle",
            why="In full float32 products run on the ordinary units, at a fraction of the speed.",
            evidence=(
                Evidence(
                    f"{used:.1%} of kernel time has a tensor-core name; products take {math:.0%} of the window"
                ),
            ),
            saving=device_saving(subject, 0.3 * math, 0.8 * math),
            confidence="medium",
            fix=('torch.set_float32_matmul_precision("high")   # TF32; ' if ampere else "")
            + 'with torch.autocast("cuda", torch.float16): ...   # with torch.amp.GradScaler when training',
            experiment=Experiment(
                "flag",
                code='import torch; torch.set_float32_matmul_precision("high"); torch.backends.cudnn.allow_tf32 = True',
                note="products keep about three decimal digits: check your results",
            ),
            resource="device",
        )
    )


def device_name(subject: Subject) -> str:
    """Name of the first device that the trace describes."""
    found = subject.meta.details.get("devices") or subject.meta.details.get("deviceProperties") or []
    for one in found if isinstance(found, list) else []:
        if isinstance(one, dict) and one.get("name"):
            return str(one["name"])
    return ""


def _math_ns(rank: RankSummary) -> float:
    return float(sum(k.total_ns for k in rank.kernels if is_math(k.name)))


RULE = Rule(
    "tensor_cores_unused",
    44,
    "device events, device properties",
    judge,
    scope="gpu",
    breadth=1,
    way="in another format",
)
