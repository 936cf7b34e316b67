"""Rule 6, a constant built on the CPU and then moved to the device (torch's ExtraCUDACopy pattern).

Condition: `aten::to` that copies to a device directly follows an operator that fills a new CPU tensor
    (zeros, ones, full, rand, arange), at least once per step, and these pairs take at least 2 % of the
    host's step.
Saving: the pair's host time, 50 to 100 %.
Not for: data that comes from outside.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.analyze.samples.stack_index import text_mask
from sonde.insights.devices import device_saving
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.02
FILLS = r"^aten::(zeros|ones|full|rand|randn|randint|arange|linspace|eye|zeros_like|ones_like|full_like|fill_|zero_)$"


def judge(subject: Subject) -> Iterator[Finding]:
    calls = subject.calls
    launches = subject.table("launches")
    copies = launches.text("kind").equals("copy")
    outer = calls.main & (calls.parent < 0) & calls.ops.text("kind").equals("op")
    rows = np.flatnonzero(outer)
    rows = rows[np.lexsort((calls.ops.array("start_ns")[rows], calls.ops.array("thread")[rows]))]
    if len(rows) < 2:
        return
    start, end = calls.ops.array("start_ns")[rows], calls.ops.array("end_ns")[rows]
    moves = text_mask(calls.ops.text("name"), r"^aten::to$")[rows]
    fills = text_mask(calls.ops.text("name"), FILLS)[rows]
    times = np.sort(launches.array("start_ns")[copies])
    copied = np.searchsorted(times, end) > np.searchsorted(times, start)
    launched = np.sort(launches.array("start_ns")[launches.text("kind").equals("launch")])
    on_cpu = np.searchsorted(launched, end) == np.searchsorted(launched, start)
    pairs = np.flatnonzero(moves[1:] & copied[1:] & fills[:-1] & on_cpu[:-1]) + 1
    spent = float(((end - start)[pairs] + (end - start)[pairs - 1]).sum())
    share = spent / max(calls.whole_ns, 1.0)
    if len(pairs) < calls.steps or share < LEAST_SHARE:
        return
    name = calls.ops.text("name")[int(rows[pairs[0] - 1])]
    file, line = calls.place(int(rows[pairs[0]]))
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{len(pairs) / calls.steps:.0f} tensors per step are filled on the CPU and then copied to the GPU",
            why="The device can fill them itself, without the copy and the wait.",
            evidence=(Evidence(f"{name} followed by aten::to with a copy", "op", str(name), file, line),),
            saving=device_saving(subject, 0.5 * share, share),
            confidence="medium",
            fix="torch.zeros(n, device=device)   # instead of torch.zeros(n).to(device)",
            experiment=Experiment("patch"),
            resource="host",
        )
    )


RULE = Rule(
    "constant_moved", 6, "operator calls and runtime calls", judge, scope="gpu", breadth=0, way="once"
)
