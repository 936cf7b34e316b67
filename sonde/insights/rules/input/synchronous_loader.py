"""Rule 19, synchronous loader: the training process makes its own batches, between the steps.

Condition: num_workers=0 and `__next__` takes at least 5 % of the steady steps (torch's
    SynchronizedDataLoader).
Saving: with k workers a step takes max(rest, fetch / k) instead of rest + fetch. Waiting (disk, network) is
    hidden by any number of workers; CPU work only by CPUs that are free, so on one CPU nothing is promised.
    Samples that come out the same in every epoch need not be made again: keeping them saves at least 30 %.
Not for: loaders with workers (rule 18); fetches so short that handing a batch over costs as much (0.3 ms).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from sonde.insights.loading import KEEP, claimed, loading, made_again
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough, Saving
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject
from sonde.insights.ways import ONCE

LEAST_SHARE = 0.05
LEAST_BUSY = 0.15  # ours
HAND_OVER_NS = 300_000.0  # ours: what it costs to take a batch from a worker's queue
MOST_WORKERS = 16


def judge(subject: Subject) -> Iterator[Finding]:
    seen = loading(subject)
    if seen.workers < 0:
        raise NotEnough("the loader's number of workers was not recorded: record with sonde run")
    fetch_ns = seen.share.middle * subject.step_ns
    if seen.workers > 0 or seen.share.middle < LEAST_SHARE or fetch_ns < 2 * HAND_OVER_NS:
        return
    cpus = subject.cpus
    waiting = _waiting_share(subject)
    rest_ns = max(subject.step_ns - fetch_ns, 1.0)
    wanted = min(max(math.ceil(fetch_ns / rest_ns), 1) + 1, MOST_WORKERS)
    if waiting < 0.5:
        wanted = min(wanted, max(cpus - 1, 1))
    best = fetch_ns - max(fetch_ns / wanted - rest_ns, 0.0) - HAND_OVER_NS
    # CPU work moves to another CPU only where there is one; threads of the step may use it already.
    low = best * (waiting + (1 - waiting) * (0.3 if cpus > 1 else 0.0))
    # Where the CPUs are busy anyway little is won: then the fetch must be a large part.
    if best <= (LEAST_SHARE if waiting > 0.5 or cpus > 4 else LEAST_BUSY) * subject.step_ns:
        return
    kept = made_again(subject)
    again = subject.saving(seen.share, ONCE.won[0]) if kept else None
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"The model waits {fetch_ns / 1e6:.1f} ms in each step while its own process makes the batch",
            why="With num_workers=0 nothing computes while a batch is read; workers make the next one meanwhile.",
            evidence=(
                Evidence(
                    f"{seen.share.middle:.1%} of the steady steps is spent in DataLoader.__next__, "
                    f"{waiting:.0%} of it off the CPU",
                    "mark",
                    "dataloader",
                ),
                Evidence(f"num_workers=0, {cpus} CPUs usable"),
                *(
                    (Evidence("the same samples are made in every epoch, without random numbers"),)
                    if kept
                    else ()
                ),
            ),
            saving=again or Saving(max(low, 0.0) * 0.7 / 1e6, best / 1e6, subject.step_ms),
            confidence="high" if waiting > 0.5 or cpus > 2 else "medium",
            fix=(KEEP + "# else: " if kept else "")
            + f"DataLoader(..., num_workers={wanted}, persistent_workers=True)",
            experiment=Experiment(
                "arguments",
                target="torch.utils.data.DataLoader",
                arguments={"num_workers": wanted, "persistent_workers": True},
                note="the script needs `if __name__ == '__main__':` where processes are spawned",
            ),
            resource="input",
            way="once" if kept else "",
        ),
        claimed(subject),
    )


def _waiting_share(subject: Subject) -> float:
    """How much of the time in the loader the thread was off the CPU; 0 when no samples tell."""
    claim = claimed(subject)
    if claim is None or not claim.any():
        return 0.0
    host = subject.host
    return float(host.weight[claim & host.waiting].sum() / host.weight[claim].sum())


RULE = Rule(
    "synchronous_loader",
    19,
    "waits and settings of the DataLoader",
    judge,
    scope="cpu",
    breadth=1,
    way="elsewhere",
)
