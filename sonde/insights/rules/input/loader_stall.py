"""Rule 18, DataLoader stall: the step waits for batches that worker processes have not finished.

Condition: the loader has workers, and `__next__` takes at least 5 % of the steady steps (TensorBoard plugin's
    threshold for its advice), most of it off the CPU.
Saving: the wait. Workers needed = now · (1 + wait / rest of the step), rounded up; where
    the machine has too few CPUs for CPU-bound workers the low end is 0. Where the workers make batches in less than a
    quarter of their time, they are not slow: what takes long is to hand a batch over, and making it in the training
    process takes its making instead.
Not for: loaders without workers (rule 19), and the wait for the first batch of an epoch (rule 20).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sonde.insights.loading import Loading, claimed, loading
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough, Saving
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

FETCH = r"torch/utils/data/_utils/fetch\.py"
LEAST_SHARE = 0.05  # kineto tb_plugin, module_op advice: DataLoader > 5 %
FEWEST_WAITS = 3
HAND_OVER_NS = 2_000_000  # ours: taking a ready batch from a worker costs up to that on a busy machine
LEAST_MAKING = 0.25  # of a worker's time, ours: with less it waits for work, not the model for it
FEWEST_SEEN = 10  # samples of workers at work
LONGER_HERE = 1.5  # ours: to make a batch between two steps, with caches that the step has used
MANY_PER_CPU = 4  # ours: who has that many workers per CPU knows that input is slow


def judge(subject: Subject) -> Iterator[Finding]:
    seen = loading(subject)
    if seen.workers < 0 and not subject.table("processes").text("role").equals("dataloader").any():
        raise NotEnough("the loader's number of workers was not recorded: record with sonde run")
    if seen.workers == 0 or seen.batches < FEWEST_WAITS or seen.share.middle < LEAST_SHARE:
        return
    # The usual batch must wait: long waits at the edges of epochs are restarts.
    rest_ns = max(subject.step_ns - seen.median_ns, 1.0)
    if seen.median_ns < max(LEAST_SHARE * subject.step_ns, HAND_OVER_NS):
        return
    now = max(seen.workers, 1)
    wanted = math.ceil(now * (1 + seen.median_ns / rest_ns))
    cpus = subject.cpus
    if now >= MANY_PER_CPU * cpus:
        return
    making = _making(subject)
    if making is not None and making < LEAST_MAKING:
        if (found := _handed_over(subject, seen, making, now)) is not None:
            yield found
        return
    busy = _workers_busy(subject)
    room = busy < 0.5 or wanted + 1 <= cpus
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Each step waits {seen.median_ns / 1e6:.1f} ms for its batch",
            why="The worker processes make batches more slowly than the model uses them.",
            evidence=(
                _time_in_next(seen),
                Evidence(
                    f"num_workers={seen.workers if seen.workers >= 0 else 'unknown'}, {cpus} CPUs usable"
                ),
                Evidence(f"the workers are on the CPU {busy:.0%} of the time"),
            ),
            saving=subject.saving(seen.share, 0.7 if room else 0.0, 1.0),
            confidence="high" if room else "low",
            fix=f"DataLoader(..., num_workers={min(wanted, 32)}, prefetch_factor=4, persistent_workers=True)"
            if room
            else "# the workers already use the CPUs there are: make a sample cheaper, cache decoded data",
            experiment=Experiment(
                "arguments",
                target="torch.utils.data.DataLoader",
                arguments={"num_workers": min(wanted, 32), "prefetch_factor": 4, "persistent_workers": True},
            ),
            resource="input",
        ),
        claimed(subject),
    )


def _time_in_next(seen: Loading) -> Evidence:
    share = f"{seen.share.middle:.1%} of the steady steps is spent in DataLoader.__next__"
    return Evidence(share, "mark", "dataloader")


def _making(subject: Subject) -> float | None:
    """Share of the workers' time in which they fetch samples, waiting for a disk included; None when not known."""
    samples, threads, processes = (subject.table(n) for n in ("samples", "threads", "processes"))
    loaders = processes.array("process")[processes.text("role").equals("dataloader")]
    mine = threads.array("thread")[
        np.isin(threads.array("process"), loaders) & threads.text("kind").equals("main")
    ]
    rows = np.isin(samples.array("thread"), mine) & subject.in_steady(samples.array("time_ns"))
    weight = samples.array("weight_ns")[rows].astype(np.float64)
    index = subject.stacks
    fetching = np.append(index.innermost(index.frames_where(name=r"fetch$", file=FETCH)), -1)
    inside = fetching[samples.array("stack")[rows]] >= 0
    if int(inside.sum()) < FEWEST_SEEN or not weight.sum():
        return None
    return float(weight[inside].sum() / weight.sum())


def _handed_over(subject: Subject, seen: Loading, making: float, workers: int) -> Finding | None:
    """The batches are ready; to take one costs more than to make it would."""
    batches = seen.batches / max(len(subject.step_starts), 1)  # in a step
    made_ns = making * workers * subject.steady.total_ns / seen.batches
    won_ns = seen.share.middle * subject.step_ns - batches * made_ns
    if won_ns < LEAST_SHARE * subject.step_ns:
        return None
    low_ns = seen.share.middle * subject.step_ns - LONGER_HERE * batches * made_ns
    return Finding(
        Insight(
            rule=RULE.name,
            title=f"Taking a batch from a worker takes {seen.median_ns / 1e6:.1f} ms, longer than making it",
            why="The workers wait for work. What costs is to pass a batch between processes; small batches are made "
            "faster where they are used.",
            evidence=(
                _time_in_next(seen),
                Evidence(
                    f"{workers} worker(s) make batches {making:.0%} of their time: "
                    f"{made_ns / 1e6:.2g} ms for a batch"
                ),
            ),
            saving=Saving(min(low_ns, 0.5 * won_ns) / 1e6, won_ns / 1e6, subject.step_ms),
            confidence="low" if subject.taken.matters else "medium",
            fix="DataLoader(..., num_workers=0)   # or larger batches; may be slower here: prove first",
            experiment=Experiment(
                "arguments", target="torch.utils.data.DataLoader", arguments={"num_workers": 0}
            ),
            resource="input",
            way="with fewer or more hands",
        ),
        claimed(subject),
    )


def _workers_busy(subject: Subject) -> float:
    """CPU share of the loader processes: CPU time by rusage over their life; 1 when not known."""
    processes = subject.table("processes")
    rows = processes.text("role").equals("dataloader")
    if not rows.any():
        return 1.0
    used = processes.array("cpu_user_ns")[rows] + processes.array("cpu_system_ns")[rows]
    lived = processes.array("end_ns")[rows] - processes.array("start_ns")[rows]
    known = (processes.array("cpu_user_ns")[rows] >= 0) & (lived > 0)
    if not known.any():
        return _sampled_busy(subject)
    return float((used[known] / lived[known]).mean())


def _sampled_busy(subject: Subject) -> float:
    samples, threads, processes = (subject.table(n) for n in ("samples", "threads", "processes"))
    loaders = processes.array("process")[processes.text("role").equals("dataloader")]
    mine = threads.array("thread")[np.isin(threads.array("process"), loaders)]
    rows = np.isin(samples.array("thread"), mine) & ~samples.text("state").equals("waiting")
    rows &= subject.in_steady(samples.array("time_ns"))
    whole = float(subject.steady.total_ns) * max(len(loaders), 1)
    return min(float(samples.array("weight_ns")[rows].sum()) / whole, 1.0) if whole else 1.0


RULE = Rule("loader_stall", 18, "waits of the DataLoader", judge, scope="cpu", breadth=0, way="elsewhere")
