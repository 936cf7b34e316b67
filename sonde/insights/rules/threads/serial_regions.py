"""Rule 27, serial regions: one thread computes for long while the other CPUs have nothing to do.

Condition: torch has at least two threads on at least two CPUs; kernels in which no pool worker took part
    take at least 30 % of the step; and in the recorded steps the same operators have calls of at least 1
    ms, so that splitting them would pay.
Saving: t·(1 - 1/C), of which 20 to 110 %: not every algorithm splits.
Not for: programs of many tiny operators (overhead), one CPU, one thread.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.analyze.samples.stack_index import Mask
from sonde.insights.calls import Calls
from sonde.insights.host_layers import in_kernel, in_loader
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.pool import pool
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.30  # catalogue, rule 27
LONG_CALL_NS = 1_000_000
# An operator counts as serial when its workers are seen for less than this share of the main thread's time.
MOST_HELP = 0.1
MOST_NOISE = 0.2  # of the step: above, idle CPUs cannot be told from CPUs that others use


def judge(subject: Subject) -> Iterator[Finding]:
    seen = pool(subject)
    if seen.threads < 2 or seen.cpus < 2:
        return
    calls = subject.calls
    names, own, helped = _by_operator(subject)
    if subject.host.preempted_share + seen.host_waits > MOST_NOISE:
        raise NotEnough("the CPUs were busy with other work: record on a quiet machine")
    times = _calls_per_step(calls)
    serial = [
        name
        for name in names
        if helped.get(name, 0.0) < MOST_HELP * own[name]
        and own[name] / subject.steady_steps >= LONG_CALL_NS * times.get(name, np.inf)
    ]
    if not serial:
        return
    claim = _innermost_op(subject, serial) & ~in_loader(subject) & ~subject.host.waiting
    share = subject.share(claim)
    if share.low < LEAST_SHARE:
        return
    heaviest = max(serial, key=lambda n: own[n])
    split = 1 - 1 / seen.cpus
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{heaviest} runs on one thread for {share.middle:.0%} of each step",
            why="The other CPUs wait while one thread works through a call that is not split among them.",
            evidence=(
                Evidence(
                    f"{seen.threads} threads, {seen.cpus} CPUs; no worker took part in {', '.join(serial[:3])}",
                    "op",
                    heaviest,
                ),
                *subject.lines(claim, 2),
            ),
            saving=subject.saving(share, 0.2 * split, min(1.4 * split, 0.95)),
            confidence="medium",
            fix="# give the operator a dimension to split: one call on a batch instead of a call per row\n"
            "scores.sort(1)   # rows are sorted in parallel\n"
            "# or run several independent instances, one per CPU",
            experiment=Experiment("patch"),
        ),
        claim,
    )


def _calls_per_step(calls: Calls) -> dict[str, float]:
    names = calls.ops.text("name")
    counts = np.bincount(names.codes[calls.main], minlength=len(names.values))
    return {names.values[i]: counts[i] / calls.steps for i in np.flatnonzero(counts).tolist()}


def _innermost_op(subject: Subject, names: list[str]) -> Mask:
    index = subject.stacks
    innermost = index.innermost(index.frames_where(layer="^op$"))
    wanted = index.frames.text("name").matches(names) & index.frames_where(layer="^op$")
    picked = np.concatenate((wanted, [False]))[innermost] if len(index) else np.zeros(0, np.bool_)
    return subject.host_mask(picked)


def _by_operator(subject: Subject) -> tuple[list[str], dict[str, float], dict[str, float]]:
    """Names of operators, the stepping thread's kernel time in each, and its workers' time."""
    index, host = subject.stacks, subject.host
    innermost = index.innermost(index.frames_where(layer="^op$"))
    frame_names = index.frames.text("name")

    def add_up(
        stack: np.ndarray[tuple[int], np.dtype[np.int64]],
        weight: np.ndarray[tuple[int], np.dtype[np.float64]],
    ) -> dict[str, float]:
        known = (stack >= 0) & (stack < len(index))
        frame = innermost[stack[known]] if len(index) else stack[known]
        inside = frame >= 0
        total = np.bincount(
            frame_names.codes[frame[inside]], weight[known][inside], minlength=len(frame_names.values)
        )
        return {frame_names.values[i]: float(total[i]) for i in np.flatnonzero(total).tolist()}

    kernel = in_kernel(subject) & host.samples.text("state").equals("running")
    own = add_up(host.stack[kernel], host.weight[kernel])
    workers = subject.workers
    busy = workers.text("state").equals("running")
    helped = add_up(
        workers.array("stack").astype(np.int64)[busy],
        np.maximum(workers.array("weight_ns"), 0).astype(np.float64)[busy],
    )
    return list(own), own, helped


RULE = Rule(
    "serial_regions",
    27,
    "samples of all threads, operator calls",
    judge,
    scope="cpu",
    breadth=2,
    way="with fewer or more hands",
)
