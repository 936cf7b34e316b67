"""Rule 22, storage bound: batches wait for a disk.

Condition: the step waits for its batches at least 5 % of the time, and those who make them (loader processes, or
    the stepping thread itself without workers) are off the CPU for reading or for page faults of mapped files at
    least half of the time in which they fetch samples (below the loader's `fetch`).
Saving: the wait for batches times the readers' share of waiting for storage, with the sampling error of that
    share; from 30 % of it (a faster format still reads) to all of it (cached).
Not for: waits for the network or for sleeping (rules 18, 19), readers that are busy on the CPU (decode, rule 21).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.loading import claimed, loading
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.shares import Share, wilson
from sonde.insights.subject import Subject

LEAST_SHARE = 0.05  # as rule 18
LEAST_READING = 0.50  # ours
FEWEST_SAMPLES = 20
WON_LOW, WON_HIGH = 0.3, 1.0
READING = ("io", "fault")
FETCH = r"torch/utils/data/_utils/fetch\.py"  # outside it a worker starts, or waits to be asked


def judge(subject: Subject) -> Iterator[Finding]:
    seen = loading(subject)
    if seen.share.middle < LEAST_SHARE:
        return
    reading = _reading(subject)
    if reading.low < LEAST_READING:
        return
    share = Share(
        seen.share.middle * reading.middle,
        seen.share.low * reading.low,
        seen.share.high * reading.high,
        reading.looks,
    )
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Batches wait for storage: {share.middle:.0%} of each step",
            why="The readers wait for the disk; once it is busy, more of them do not make it faster.",
            evidence=(
                Evidence(
                    f"{seen.share.middle:.1%} of the steady steps waits for a batch", "mark", "dataloader"
                ),
                Evidence(
                    f"the threads that make batches wait {reading.middle:.0%} of their time for reads and page faults"
                ),
            ),
            saving=subject.saving(share, WON_LOW, WON_HIGH),
            confidence="medium",
            fix="# read large files in order instead of many small ones: shards (WebDataset, Parquet), or keep\n"
            "# decoded samples in memory or on a local disk; more workers help only a disk that is not yet busy",
            experiment=Experiment(
                "patch", note="run twice: the second run finds the files in the page cache"
            ),
            resource="input",
        ),
        claimed(subject),
    )


def _reading(subject: Subject) -> Share:
    """Share of the time of those who make batches that waits for storage."""
    samples, index = subject.table("samples"), subject.stacks
    stack = samples.array("stack").astype(np.int64)
    known = (stack >= 0) & (stack < len(index))
    fetching = index.on_stack(index.frames_where(layer="^python$", file=FETCH))
    rows = known & subject.in_steady(samples.array("time_ns"))
    rows[rows] = fetching[stack[rows]]
    if int(rows.sum()) < FEWEST_SAMPLES:
        raise NotEnough(f"{int(rows.sum())} samples in threads that fetch batches, {FEWEST_SAMPLES} needed")
    samples = samples.take(np.flatnonzero(rows))
    weight = np.maximum(samples.array("weight_ns"), 0).astype(np.float64)
    stuck = samples.text("state").equals("waiting") & samples.text("reason").matches(READING)
    return wilson(float(weight[stuck].sum()), float(weight.sum()), float(len(samples)))


RULE = Rule(
    "storage_bound",
    22,
    "waits of those who make batches",
    judge,
    scope="cpu",
    breadth=-1,
    way="waiting for someone",
)
