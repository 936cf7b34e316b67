"""Rule 47, roofline outlier: an operator far below what this machine can do (needs `sonde check --roof`).

Condition: the machine's roofs were measured (`sonde check --roof`), one product or convolution with its shapes takes
    at least 20 % of the recorded steps and runs at less than a twentieth of the roof of its arithmetic, which binds it
    (catalogue: 5 % and 30 %; but convolutions of few channels or small pictures stay at a tenth). Its calls last at
    least 0.5 ms and do 50 MFLOP, so that it is not the cost of calling that shows, and samples of CPU time agree.
Saving: t·(1 - η/0.7), of which 20 to 100 %: not every shape can come near the roof.
Not for: machines without measured roofs or busy with other work, operators whose work is not known, operators that
    wait for memory (a cache may hold their data or not), and those of which another rule names the cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from sonde.analyze.roofline.bounds import TARGET_COMPUTE
from sonde.analyze.roofline.tables import op_roofline
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.roof import measured_roof
from sonde.insights.rule import Finding, Rule
from sonde.insights.shares import exact
from sonde.insights.subject import Subject

LEAST_SHARE, MOST_EFFICIENT = 0.20, 0.05  # catalogue, rule 47: 0.05 and 0.3
SHORTEST_CALL_MS = 0.5  # ours
FEWEST_FLOPS = 5e7  # of a call: smaller problems are too small for the roof (ours)
MOST_NOISE = 0.1  # of the step: above, a call is long because others had the CPU (ours)
WON_LOW, WON_HIGH = 0.2, 1.0


def judge(subject: Subject) -> Iterator[Finding]:
    roof = measured_roof(subject)
    if subject.host.preempted_share > MOST_NOISE:
        raise NotEnough("the CPUs were busy with other work: record on a quiet machine")
    calls = subject.calls
    outer = np.flatnonzero(calls.main & calls.ops.text("kind").equals("op"))
    table = op_roofline(calls.ops.take(outer), roof)
    shares = table.array("total_ms") * 1e6 / max(calls.whole_ns, 1.0)
    low = table.array("efficiency") < MOST_EFFICIENT
    long = table.array("total_ms") >= SHORTEST_CALL_MS * table.array("calls")
    long &= table.array("flops") >= FEWEST_FLOPS * table.array("calls")
    computes = table.text("bound").equals("compute")
    found = np.flatnonzero(low & long & computes & (shares >= LEAST_SHARE))
    if not len(found):
        return
    row = int(found[np.argmax(shares[found])])
    name = table.text("name")[row] or ""
    claim = subject.host_in_op(f"^{re.escape(name)}$") & ~subject.host.waiting
    if subject.share(claim).low < 0.5 * float(shares[row]):
        return
    efficiency = float(table.array("efficiency")[row])
    share = min(float(shares[row]), 1.0)
    won = 1 - efficiency / TARGET_COMPUTE
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{name} runs at {efficiency:.0%} of what this machine can do, for {share:.0%} of each step",
            why="Its arithmetic and data would allow several times the speed; its shape or the threads limit it.",
            evidence=(
                Evidence(
                    f"{name} {table.text('shapes')[row]}: {table.array('gflops_s')[row]:.1f} GFLOP/s, "
                    f"bound by {table.text('bound')[row]}",
                    "op",
                    name,
                ),
            ),
            saving=subject.saving(exact(share * won, 1.0), WON_LOW, WON_HIGH),
            confidence="low",
            fix="# try the operator alone: other threads (OMP_NUM_THREADS), sizes in multiples of 16, another layout\n"
            "sonde show REC roofline",
            experiment=Experiment("replay"),
        ),
        claim,
    )


RULE = Rule(
    "roofline_outlier",
    47,
    "measured roofs, operator calls with shapes",
    judge,
    scope="cpu",
    breadth=2,
    way="in another format",
)
