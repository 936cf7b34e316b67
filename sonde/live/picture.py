"""What a running job does now, as typed rows: the content of `sonde top`, its JSON and what is pushed to other tools.

Enters: the recording of the last seconds (`sonde.live.following`). Leaves: a `Picture`. Its figures come from the
functions that the views of a finished recording use.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.ops.sampled import sampled_ops
from sonde.analyze.samples.labels import frame_labels
from sonde.analyze.samples.own_lines import own_lines
from sonde.analyze.samples.stacks import HotFrame, hot_frames
from sonde.analyze.steps.program import StepReport, step_reports
from sonde.columns import Table
from sonde.store.recording import Recording

STATES = ("running", "spinning", "imbalance")
MOST_STEPS = 240  # of the history of step times


@dataclass(frozen=True)
class Row:
    """A line, operator, function, module or thread, with its CPU time in the interval."""

    name: str
    cpu_ns: int
    share: float  # of all CPU time of the interval
    samples: int
    detail: str = ""


@dataclass(frozen=True)
class Steps:
    """Steps of one process that ended in the interval."""

    process: int
    kind: str
    count: int
    last_number: int
    median_ms: float
    p90_ms: float
    per_second: float
    history_ms: tuple[float, ...]  # oldest first
    phases: dict[str, float]  # share of the median step


@dataclass(frozen=True)
class ProcessNow:
    """One process of the job."""

    pid: int
    rank: int  # -1 unknown
    role: str
    command: str
    cores: float  # CPUs in use on average
    rss_bytes: int  # -1 unknown
    step_ms: float | None
    steps_per_second: float | None


@dataclass(frozen=True)
class Picture:
    """All shares are of `cpu_ns`, the CPU time of the job in the interval."""

    program: str
    seconds: float
    cpu_ns: int
    samples: int
    states: dict[str, float]  # running, busy-waiting … as shares
    layers: dict[
        str, float
    ]  # python, op, native, kernel …: shares by the innermost frame that is not the runtime's
    taken_share: float  # of wall time of the stepping thread: ready, but off the CPU
    steps: list[Steps]
    lines: list[Row]
    operators: list[Row]
    functions: list[Row]
    modules: list[Row]
    threads: list[Row]
    processes: list[ProcessNow]
    lost_samples: int


def picture(recording: Recording, seconds: float) -> Picture:
    """`seconds`: how long the interval is that the recording shows."""
    samples, frames, stacks = (recording.table(name) for name in ("samples", "frames", "stacks"))
    threads, marks = recording.table("threads"), recording.table("marks")
    on_cpu = samples.take(~samples.text("state").equals("waiting"))
    frames, stacks, on_cpu = _in_use(frames, stacks, on_cpu)
    whole = int(on_cpu.array("weight_ns").sum())
    hot = hot_frames(frames, stacks, on_cpu, runtime=False)
    reports = step_reports(marks, samples, threads)
    state = on_cpu.text("state")
    weight = on_cpu.array("weight_ns")
    return Picture(
        program=recording.meta.program,
        seconds=seconds,
        cpu_ns=whole,
        samples=len(on_cpu),
        states={name: _share(int(weight[state.equals(name)].sum()), whole) for name in STATES},
        layers=_by_layer(hot, whole),
        taken_share=max(
            (report.taken_share for report in reports), default=_preempted_share(samples, threads, seconds)
        ),
        steps=[_steps(report, seconds) for report in reports],
        lines=_rows_of_lines(frames, stacks, on_cpu, whole),
        operators=_rows_of_operators(on_cpu, stacks, frames, whole),
        functions=[
            Row(
                h.label,
                h.self_ns,
                _share(h.self_ns, whole),
                h.samples,
                frames.text("library")[h.frame] or h.layer,
            )
            for h in hot
            if h.self_ns
        ],
        modules=[
            Row(h.label.removeprefix("[module] "), h.total_ns, _share(h.total_ns, whole), h.samples)
            for h in sorted(hot, key=lambda h: -h.total_ns)
            if h.layer == "module"
        ],
        threads=_rows_of_threads(threads, on_cpu, whole),
        processes=_processes(recording, on_cpu, reports, seconds),
        lost_samples=_lost(recording.table("losses")),
    )


def callers(recording: Recording, label: str, most: int = 12) -> list[Row]:
    """Who calls what is called `label`, directly, by the CPU time that it uses for them."""
    samples, frames, stacks = (recording.table(name) for name in ("samples", "frames", "stacks"))
    frames, stacks, on_cpu = _in_use(frames, stacks, samples.take(~samples.text("state").equals("waiting")))
    labels, hidden = frame_labels(frames), frames.array("runtime").tolist()
    parent, frame = stacks.array("parent").tolist(), stacks.array("frame").tolist()
    wanted = {label, f"[module] {label}", f"[op] {label}"}
    found: dict[str, tuple[int, int]] = {}
    whole = 0
    pairs = zip(on_cpu.array("stack").tolist(), on_cpu.array("weight_ns").tolist(), strict=True)
    for stack, ns in pairs:
        at = stack
        while at >= 0 and labels[frame[at]] not in wanted:
            at = parent[at]
        if at < 0:
            continue
        whole += ns
        above = parent[at]
        while above >= 0 and (hidden[frame[above]] or labels[frame[above]] in wanted):
            above = parent[above]
        name = labels[frame[above]] if above >= 0 else "(root)"
        known = found.get(name, (0, 0))
        found[name] = (known[0] + ns, known[1] + 1)
    rows = [Row(name, ns, _share(ns, whole), count) for name, (ns, count) in found.items()]
    return sorted(rows, key=lambda row: -row.cpu_ns)[:most]


def _in_use(frames: Table, stacks: Table, samples: Table) -> tuple[Table, Table, Table]:
    """Frames and stacks of these samples alone, numbered anew: the tables also hold what was seen long ago."""
    used = np.zeros(len(stacks), np.bool_)
    parent = stacks.array("parent")
    front = np.unique(samples.array("stack"))
    front = front[front >= 0]
    while len(front):
        used[front] = True
        above = np.unique(parent[front])
        front = above[(above >= 0) & ~used[above]]
    number = np.full(len(stacks) + 1, -1, np.int32)  # the last one: of -1
    number[:-1][used] = np.arange(int(used.sum()), dtype=np.int32)
    kept = stacks.take(used)
    rows, at = np.unique(kept.array("frame"), return_inverse=True)
    kept = kept.with_columns(
        stack=np.arange(len(kept), dtype=np.int32),
        parent=number[kept.array("parent")],
        frame=at.reshape(-1).astype(np.int32),
    )
    frames = frames.take(rows).with_columns(frame=np.arange(len(rows), dtype=np.int32))
    return frames, kept, samples.with_columns(stack=number[samples.array("stack")])


def _by_layer(hot: list[HotFrame], whole: int) -> dict[str, float]:
    found: dict[str, int] = {}
    for one in hot:
        found[one.layer] = found.get(one.layer, 0) + one.self_ns
    return {layer: _share(ns, whole) for layer, ns in sorted(found.items(), key=lambda pair: -pair[1]) if ns}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _steps(report: StepReport, seconds: float) -> Steps:
    own = sorted(report.steps, key=lambda step: step.start_ns)
    durations = np.array([step.own_ns for step in own], np.float64) / 1e6
    middle = float(np.median(durations)) if len(durations) else 0.0
    return Steps(
        process=report.process,
        kind=report.kind,
        count=len(own),
        last_number=own[-1].index if own else -1,
        median_ms=middle,
        p90_ms=float(np.percentile(durations, 90)) if len(durations) else 0.0,
        per_second=len(own) / seconds if seconds else 0.0,
        history_ms=tuple(durations[-MOST_STEPS:].tolist()),
        phases={name: _share(int(ns), int(report.median_ns)) for name, ns in report.phase_ns.items()},
    )


def _rows_of_lines(frames: Table, stacks: Table, on_cpu: Table, whole: int) -> list[Row]:
    found = own_lines(frames, stacks, on_cpu, ())
    rows = found.rows if not found.below else [*found.rows, *found.below]
    return [Row(label, ns, _share(ns, whole), 0) for label, ns in rows]


def _rows_of_operators(on_cpu: Table, stacks: Table, frames: Table, whole: int) -> list[Row]:
    table, _ = sampled_ops(on_cpu, stacks, frames)
    names, self_ns, total_ns = table.text("name").tolist(), table.array("self_ns"), table.array("total_ns")
    return [
        Row(
            name or "?",
            int(self_ns[i]),
            _share(int(self_ns[i]), whole),
            int(table.array("samples")[i]),
            f"{_share(int(total_ns[i]), whole) * 100:.1f} % with callees",
        )
        for i, name in enumerate(names)
    ]


def _rows_of_threads(threads: Table, on_cpu: Table, whole: int) -> list[Row]:
    numbers = threads.array("thread").tolist()
    size = max(numbers, default=-1) + 1
    mine = on_cpu.array("thread")
    known = (mine >= 0) & (mine < size)
    ns = np.bincount(mine[known], weights=on_cpu.array("weight_ns")[known].astype(np.float64), minlength=size)
    count = np.bincount(mine[known], minlength=size)
    rows = [
        Row(
            f"{threads.text('kind')[i] or 'thread'} {threads.text('name')[i] or ''} ({int(threads.array('tid')[i])})",
            int(ns[number]),
            _share(int(ns[number]), whole),
            int(count[number]),
            f"process {int(threads.array('process')[i])}",
        )
        for i, number in enumerate(numbers)
        if count[number]
    ]
    return sorted(rows, key=lambda row: -row.cpu_ns)


def _processes(
    recording: Recording, on_cpu: Table, reports: list[StepReport], seconds: float
) -> list[ProcessNow]:
    table, threads, counters = (recording.table(name) for name in ("processes", "threads", "counters"))
    owner = np.full(int(threads.array("thread").max(initial=-1)) + 2, -1, np.int64)
    owner[threads.array("thread")] = threads.array("process")
    of_sample = owner[on_cpu.array("thread")]
    steps = {report.process: _steps(report, seconds) for report in reports}
    rows = []
    for i, number in enumerate(table.array("process").tolist()):
        ns = int(on_cpu.array("weight_ns")[of_sample == number].sum())
        rss = counters.take((counters.array("process") == number) & counters.text("name").equals("rss_bytes"))
        mine = steps.get(number)
        rows.append(
            ProcessNow(
                pid=int(table.array("pid")[i]),
                rank=int(table.array("rank")[i]),
                role=table.text("role")[i] or "",
                command=table.text("command")[i] or "",
                cores=ns / 1e9 / seconds if seconds else 0.0,
                rss_bytes=int(rss.array("value")[-1]) if len(rss) else -1,
                step_ms=mine.median_ms if mine else None,
                steps_per_second=mine.per_second if mine else None,
            )
        )
    return rows


def _preempted_share(samples: Table, threads: Table, seconds: float) -> float:
    """Of the main thread's time, where there are no steps."""
    main = threads.array("thread")[threads.text("kind").equals("main")]
    if not len(main) or not seconds:
        return 0.0
    taken = (samples.array("thread") == main[0]) & samples.text("reason").equals("preempted")
    return min(float(samples.array("weight_ns")[taken].sum()) / 1e9 / seconds, 1.0)


def _lost(losses: Table) -> int:
    return int(losses.array("count")[losses.text("unit").equals("samples")].sum())
