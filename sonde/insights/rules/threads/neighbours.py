"""Neighbours: other programs, or other processes of this one, had the CPU while the step was ready to run.

Condition: the stepping thread stood ready but off the CPU for at least 20 % of the steady time, and the process has no
    more threads than CPUs of its own to blame for it.
Saving: what was taken away, and nothing sure of it where the others are no processes of this program.
Not for: threads of the same process that outnumber its CPUs (`oversubscription`), a CPU quota.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.model import Evidence, Experiment, Insight, Saving
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_TAKEN = 0.20
LEAST_CHILD = 0.10  # of the run's CPU time in another process of the same program
STARTS = ("Popen", "Process", "spawn", "fork", "ProcessPoolExecutor", "Pool", "start_processes")
WON_LOW = 0.4


def judge(subject: Subject) -> Iterator[Finding]:
    taken = subject.taken
    share = taken.share
    threads = subject.settings.get("threads")
    if share < LEAST_TAKEN or (isinstance(threads, int) and threads > subject.cpus):
        return
    if (taken.throttled_s or 0.0) > 0.5 * taken.seconds:
        return
    own = _children(subject)
    feeding = own >= LEAST_CHILD and _has_workers(subject)  # of a DataLoader: they feed the step
    file, line = subject.called_at(*STARTS) if own >= LEAST_CHILD and not feeding else ("", -1)
    mine = own >= LEAST_CHILD and bool(file)
    whole_ms = subject.step_ns / 1e6 / max(1 - share, 0.02)
    who = "Other processes of this program" if mine else "Other programs"
    if feeding:
        who = "The program's own loader workers, or other programs,"
    half = subject.cpus // 2
    cpus = f"0-{half - 1}" if half > 1 else "0"
    evidence = [Evidence(f"the stepping thread was ready but off the CPU for {share:.0%} of its time")]
    if mine:
        evidence.append(
            Evidence(
                f"other processes of this program used {own:.0%} of all its CPU time", "line", "", file, line
            )
        )
    if feeding:
        evidence.append(Evidence(f"other processes of this program used {own:.0%} of all its CPU time"))
    apart = f"# run them one after the other, or give each CPUs of its own, for example\ntaskset -c {cpus} COMMAND"
    fewer = f"torch.set_num_threads(1)   # or fewer workers: all share {subject.cpus} CPU(s); prove first"
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{who} had the CPU for {share:.0%} of each step",
            why="There are more programs that compute than CPUs, so they take turns.",
            evidence=tuple(evidence),
            # What strangers do is no mistake of the program, and may be over by now.
            saving=Saving(
                WON_LOW * share * whole_ms if mine else 0.0, min(1.1 * share, 0.98) * whole_ms, whole_ms
            ),
            confidence="high" if mine else "low",
            fix=fewer if feeding else apart,
            experiment=Experiment("patch", note="nothing in the program is slow by itself"),
            work="taken",
            file=file,
            line=line,
        )
    )


def _has_workers(subject: Subject) -> bool:
    loaders = subject.settings.get("loaders", [])
    return any(one.get("num_workers") for one in loaders if isinstance(one, dict))


def _children(subject: Subject) -> float:
    """Share of the run's CPU time in other processes that the program started and that Sonde followed."""
    threads, samples = subject.table("threads"), subject.table("samples")
    process = np.zeros(int(max(threads.array("thread").max(initial=0), 0)) + 1, np.int64)
    process[threads.array("thread")] = threads.array("process")
    running = samples.take(np.flatnonzero(~samples.text("state").equals("waiting")))
    thread = running.array("thread").astype(np.int64)
    weight = np.maximum(running.array("weight_ns"), 0).astype(np.float64)
    known = (thread >= 0) & (thread < len(process))
    other = known & (process[np.clip(thread, 0, len(process) - 1)] != subject.process)
    whole = float(weight.sum())
    return float(weight[other].sum()) / whole if whole else 0.0


RULE = Rule(
    "neighbours",
    65,
    "scheduler figures of the stepping thread",
    judge,
    scope="cpu",
    breadth=-1,
    way="with fewer or more hands",
)
