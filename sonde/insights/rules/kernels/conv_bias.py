"""Rule 49c, Conv2d bias before BatchNorm: the normalisation removes the bias again.

Condition: in a training step a convolution with a bias is directly followed by a batch norm in training
    mode over its output (torch's Conv2dBiasFollowedByBatchNorm2d pattern), for at least two convolutions.
Saving: per convolution one pass over the output forward and one over its gradient backward, at the
    bandwidth of main memory; the low end is a tenth of it, because libraries fuse the forward pass.
Not for: inference (fold the batch norm into the weights instead), transposed layouts without shapes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.bandwidth import bytes_per_second
from sonde.insights.calls import Calls, elements
from sonde.insights.model import Evidence, Experiment, Insight, Saving
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

FEWEST = 2
CONV = r"^aten::conv[123]d$"
NORM = r"^aten::batch_norm$"


def judge(subject: Subject) -> Iterator[Finding]:
    calls = subject.calls
    found = _pairs(calls)
    if len(found) < FEWEST * calls.steps or not len(subject.marks("phase")):
        return
    passed = sum(4 * elements((calls.shapes(norm) or [[]])[0]) for _, norm in found) / calls.steps
    slow, fast = bytes_per_second(subject)
    low_ms, high_ms = 0.1 * passed / fast * 1e3, 4.0 * passed / slow * 1e3
    file, line = calls.place(found[0][0])
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{len(found) // calls.steps} convolutions have a bias that batch norm removes again",
            why="Batch norm subtracts the mean, and with it any bias; its gradient is computed for nothing.",
            evidence=(
                Evidence(
                    f"{len(found) / calls.steps:.0f} times per step convolution with bias → batch "
                    "norm in training mode",
                    "op",
                    "aten::conv2d",
                    file,
                    line,
                ),
            ),
            saving=Saving(low_ms, min(high_ms, 0.3 * subject.step_ms), subject.step_ms),
            confidence="medium",
            fix="nn.Conv2d(..., bias=False), nn.BatchNorm2d(...)",
            experiment=Experiment(
                "arguments",
                target="torch.nn.Conv2d",
                arguments={"bias": False},
                note="old checkpoints hold the bias",
            ),
        )
    )


def _pairs(calls: Calls) -> list[tuple[int, int]]:
    """(convolution with bias, batch norm in training mode right behind it on the same shape of channels)."""
    rows = np.flatnonzero(
        calls.main & calls.named(CONV + "|" + NORM + r"|^aten::(relu_?|gelu|silu_?|max_pool2d|cat)$")
    )
    rows = rows[np.argsort(calls.ops.array("start_ns")[rows], kind="stable")]
    conv, norm = calls.named(CONV)[rows], calls.named(NORM)[rows]
    found = []
    for at in np.flatnonzero(conv[:-1] & norm[1:]).tolist():
        first, second = int(rows[at]), int(rows[at + 1])
        shapes = calls.shapes(first)
        training = (calls.ops.text("inputs")[second] or "").count("True") > 0
        if len(shapes) > 2 and shapes[2] and training:
            found.append((first, second))
    return found


RULE = Rule("conv_bias", 49, "operator calls with shapes", judge, scope="cpu", breadth=0, way="not at all")
