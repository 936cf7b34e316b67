"""`chain`: from the Python line to the kernel, with the time on each level.

With `--against REC2` the same line of both recordings side by side, eager and compiled for
example; REC2 may be REC itself when it holds eager and compiled calls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.ops.sampled import sampled_ops
from sonde.analyze.samples.chain_levels import LEVELS, Levels, is_users, stack_levels
from sonde.analyze.samples.dispatch_chain import CallChain, LevelTime, Spread, call_chain, level_times, under
from sonde.analyze.samples.labels import frame_labels
from sonde.columns import Array
from sonde.errors import UsageError
from sonde.store.recording import Recording
from sonde.views.columns import Column
from sonde.views.options import ShowOptions


@dataclass(frozen=True)
class LineTime:
    """CPU time around the operator on one line of the program."""

    line: Annotated[str, Column("line", meaning="function, file and line")]
    ms: Annotated[float, Column("CPU time", "ms", "sampled there")]


@dataclass(frozen=True)
class OutsideTime:
    """CPU time on the same lines outside of every operator."""

    ms: float
    samples: int


@dataclass(frozen=True)
class LevelRow:
    """Samples that end on one level between the Python line and the kernel."""

    level: Annotated[str, Column("level", meaning="its short name")]
    title: Annotated[str, Column("level", meaning="the same for people")]
    functions: list[str]  # on the heaviest path, caller first
    samples: Annotated[int, Column("samples", "count", "samples that end there")]
    share: Annotated[float, Column("share", "share", "of the operator's CPU time")]
    low: Annotated[float, Column("low", "share", "95 % interval of the share")]
    high: Annotated[float, Column("high", "share", "95 % interval of the share")]
    ms: Annotated[float, Column("CPU time", "ms", "sampled there")]


@dataclass(frozen=True)
class SpreadUs:
    """Over all recorded calls."""

    median_us: float
    p10_us: float
    p90_us: float
    count: int


@dataclass(frozen=True)
class ChainStep:
    """One operator inside the median call."""

    name: Annotated[str, Column("operator", meaning="operator")]
    depth: Annotated[int, Column("depth", meaning="operators around it")]
    start_us: Annotated[float, Column("begins", "us", "after the call began")]
    us: Annotated[float, Column("takes", "us", "with what it calls")]
    self_us: Annotated[float, Column("of its own", "us", "without what it calls")]


@dataclass(frozen=True)
class ChainLaunch:
    """One launch inside the median call."""

    name: Annotated[str, Column("call", meaning="runtime or driver call")]
    start_us: Annotated[float, Column("begins", "us", "after the call began")]
    us: Annotated[float, Column("takes", "us", "on the host")]
    kernel: Annotated[str, Column("kernel", meaning="what it launched")]
    latency_us: Annotated[float | None, Column("latency", "us", "until the kernel began")]
    kernel_us: Annotated[float, Column("kernel takes", "us", "on the device")]
    stream: Annotated[int, Column("stream", meaning="number of the device's stream")]


@dataclass(frozen=True)
class MedianCall:
    """The call whose duration is the median."""

    op: int  # its number in the table `ops`
    module: str | None
    file: str | None
    line: int
    shapes: str | None
    steps: list[ChainStep]
    launches: list[ChainLaunch]


@dataclass(frozen=True)
class RecordedCalls:
    """`dead`: before the first dispatch; `until`: from there until the operator begins; `latency`: launch to kernel."""

    count: int
    duration: SpreadUs
    dead: SpreadUs | None
    until: SpreadUs | None
    latency: SpreadUs | None
    call: MedianCall


@dataclass(frozen=True)
class ChainSide:
    """One of two recordings that are compared level by level."""

    program: str
    samples: int
    on_cpu_ms: float
    levels: dict[str, LevelRow]


@dataclass(frozen=True)
class ChainSides:
    """The line that both have in common, and both."""

    line: str
    recordings: list[ChainSide]


@dataclass(frozen=True)
class Chain:
    """`op`: null when the recording has no operator; `calls`: null when none was recorded; `sides`: with --against."""

    op: str | None
    calls: RecordedCalls | None = None
    samples: int = 0
    on_cpu_ms: float = 0.0
    lines: list[LineTime] = field(default_factory=list)
    outside: OutsideTime = OutsideTime(0.0, 0)
    levels: list[LevelRow] = field(default_factory=list)
    sides: ChainSides | None = None


def data(recording: Recording, options: ShowOptions) -> Chain:
    name = options.op or _largest(recording)
    if name is None:
        return Chain(None)
    sampled = _Sampled(recording)
    inside = sampled.in_op(name)
    tables = [recording.table(n) for n in ("ops", "kernels", "launches")]
    calls = call_chain(name, *tables)
    if calls is None and not inside.any():
        raise UsageError(f"no operator {name!r} in this recording", f"see: sonde show {options.name} ops")
    return Chain(
        op=name,
        calls=_calls(calls),
        samples=int(inside.sum()),
        on_cpu_ms=int(sampled.weight[inside].sum()) / 1e6,
        lines=sampled.lines(inside),
        outside=sampled.outside(inside),
        levels=[_level(t) for t in sampled.levels(inside)],
        sides=None if options.against is None else _sides(sampled, options.against, inside, name),
    )


def _largest(recording: Recording) -> str | None:
    """The operator with most time of its own, when the user names none."""
    table, _ = sampled_ops(*(recording.table(n) for n in ("samples", "stacks", "frames")))
    if len(table):
        return table.text("name")[0]
    ops = recording.table("ops")
    ops = ops.take(ops.text("kind").equals("op"))
    if not len(ops):
        return None
    time = np.bincount(ops.text("name").codes, weights=ops.array("end_ns") - ops.array("start_ns"))
    return ops.text("name").values[int(np.argmax(time))]


class _Sampled:
    """On-CPU samples of a recording with the levels of their stacks."""

    def __init__(self, recording: Recording) -> None:
        samples = recording.table("samples")
        self.recording = recording
        self.stacks, self.frames = recording.table("stacks"), recording.table("frames")
        self.stack = rows_of(self.stacks.array("stack"), samples.array("stack"))
        self.samples = samples
        self.weight = samples.array("weight_ns")
        self.busy = ~samples.text("state").equals("waiting") & (self.stack >= 0)
        self._levels: Levels | None = None

    @property
    def of_stacks(self) -> Levels:
        if self._levels is None:
            self._levels = stack_levels(self.stacks, self.frames)
        return self._levels

    def in_op(self, name: str) -> Array:
        """Samples with the operator on their stack."""
        wanted = self.frames.text("layer").equals("op") & self.frames.text("name").equals(name)
        return self.below(wanted)

    def below(self, frame_mask: Array) -> Array:
        """On-CPU samples with one of these frames on their stack."""
        if not len(self.stacks):
            return np.zeros(len(self.stack), np.bool_)
        levels = self.of_stacks
        holds = np.append(frame_mask, False)[levels.frame]
        inside = under(holds, levels.parent)
        chosen: Array = self.busy & np.append(inside, False)[self.stack]
        return chosen

    def levels(self, chosen: Array) -> list[LevelTime]:
        if not chosen.any():
            return []
        return level_times(chosen, self.samples, self.stack, self.of_stacks, self.frames)

    def lines(self, chosen: Array) -> list[LineTime]:
        """The user's innermost lines around the chosen samples, heaviest first."""
        if not chosen.any():
            return []
        user = self.of_stacks.user[self.stack[chosen]]
        labels, total = frame_labels(self.frames), dict[str, int]()
        for row, ns in zip(user.tolist(), self.weight[chosen].tolist(), strict=True):
            label = labels[row] if row >= 0 else "no line of the program"
            total[label] = total.get(label, 0) + ns
        rows = sorted(total.items(), key=lambda item: -item[1])
        return [LineTime(label, ns / 1e6) for label, ns in rows]

    def outside(self, chosen: Array) -> OutsideTime:
        """Samples on the same lines of the program, outside of every operator."""
        if not chosen.any():
            return OutsideTime(0.0, 0)
        user = np.append(self.of_stacks.user, -1)[self.stack]
        same = np.isin(user, np.unique(user[chosen])) & (user >= 0)
        eager = ~np.append(self.of_stacks.compiled, False)[self.stack]
        found = self.busy & same & eager & ~self.below(self.frames.text("layer").equals("op"))
        return OutsideTime(int(self.weight[found].sum()) / 1e6, int(found.sum()))


def _sides(mine: _Sampled, other: Recording, inside: Array, name: str) -> ChainSides:
    """The innermost line of the program that both recordings have around the operator, level by level."""
    if other is mine.recording or (other.path is not None and other.path == mine.recording.path):
        return _both_in_one(mine, inside, name)
    theirs = _Sampled(other)
    anchor = _common_line(mine, theirs, inside)
    if anchor is None:
        raise UsageError(
            f"the two recordings have no line of the program in common around {name}",
            "compare runs of one program",
        )
    left = mine.below(np.isin(np.array(_user_labels(mine)), [anchor]))
    right = theirs.below(np.isin(np.array(_user_labels(theirs)), [anchor]))
    return _side_by_side(anchor, (mine, left), (theirs, right))


def _both_in_one(sampled: _Sampled, inside: Array, name: str) -> ChainSides:
    """Eager and compiled calls of one function in one recording: apart by whether they pass torch.compile."""
    levels = sampled.of_stacks
    compiled = sampled.busy & np.append(levels.compiled, False)[sampled.stack]
    if not compiled.any() or not (inside & ~compiled).any():
        missing = "compiled" if not compiled.any() else "eager"
        raise UsageError(f"this recording has no {missing} calls around {name}", "give another recording")
    eager_lines = {r.line.split(" (")[0] for r in sampled.lines(inside & ~compiled)[:1]}
    functions = np.array([label.split(" (")[0] in eager_lines for label in _user_labels(sampled)], np.bool_)
    inside_function = sampled.below(functions)
    # Guards run before the function's own frame: what calls the compiled function is the same line.
    callers = {sampled.of_stacks.user[p] for p in _callers(sampled, functions, compiled)}
    through = sampled.below(np.isin(np.arange(len(sampled.frames)), list(callers))) & compiled
    title = ", ".join(sorted(eager_lines)) + ": A eager, B compiled"
    return _side_by_side(
        title, (sampled, inside_function & ~compiled), (sampled, through | (inside_function & compiled))
    )


def _callers(sampled: _Sampled, functions: Array, compiled: Array) -> list[int]:
    """Rows of `stacks` just above the first frame of the function on compiled stacks."""
    levels = sampled.of_stacks
    found = set()
    for row in set(sampled.stack[compiled].tolist()):
        at, top = row, -1
        while at >= 0:
            if levels.frame[at] >= 0 and functions[levels.frame[at]]:
                top = at
            at = int(levels.parent[at])
        if top >= 0 and levels.parent[top] >= 0:
            found.add(int(levels.parent[top]))
    return list(found)


def _common_line(mine: _Sampled, theirs: _Sampled, inside: Array) -> str | None:
    """From the innermost of my lines outwards, the first that their samples pass as well."""
    here, there = _user_labels(mine), set(_seen_labels(theirs))
    totals: dict[int, int] = {}
    for row, ns in zip(mine.stack[inside].tolist(), mine.weight[inside].tolist(), strict=True):
        totals[row] = totals.get(row, 0) + ns
    levels = mine.of_stacks
    votes: dict[str, int] = {}
    for row, ns in totals.items():
        at = row
        while at >= 0:
            label = here[levels.frame[at]]
            if label and label in there:
                votes[label] = votes.get(label, 0) + ns
                break
            at = int(levels.parent[at])
    return max(votes, key=lambda label: votes[label]) if votes else None


def _user_labels(sampled: _Sampled) -> list[str]:
    """Label of each frame of the user's own Python, empty for all others."""
    files, layers = sampled.frames.text("file").tolist(), sampled.frames.text("layer").tolist()
    labels = frame_labels(sampled.frames)
    return [
        label if layer == "python" and is_users(file) else ""
        for label, layer, file in zip(labels, layers, files, strict=True)
    ]


def _seen_labels(sampled: _Sampled) -> list[str]:
    labels = _user_labels(sampled)
    return [labels[f] for f in np.unique(sampled.of_stacks.frame).tolist() if f >= 0 and labels[f]]


def _side_by_side(anchor: str, *sides: tuple[_Sampled, Array]) -> ChainSides:
    found = []
    for sampled, chosen in sides:
        times = {t.level: t for t in sampled.levels(chosen)}
        found.append(
            ChainSide(
                program=" ".join(sampled.recording.meta.command[1:]) or sampled.recording.meta.program,
                samples=int(chosen.sum()),
                on_cpu_ms=int(sampled.weight[chosen].sum()) / 1e6,
                levels={name: _level(times[name]) for name in LEVELS if name in times},
            )
        )
    return ChainSides(anchor, found)


def _level(t: LevelTime) -> LevelRow:
    return LevelRow(t.level, t.title, t.functions, t.samples, t.share, t.low, t.high, t.ns / 1e6)


def _perhaps(spread: Spread | None) -> SpreadUs | None:
    return None if spread is None else _spread(spread)


def _spread(spread: Spread) -> SpreadUs:
    return SpreadUs(spread.median_ns / 1e3, spread.p10_ns / 1e3, spread.p90_ns / 1e3, spread.count)


def _calls(chain: CallChain | None) -> RecordedCalls | None:
    if chain is None:
        return None
    dead, until, latency = (_perhaps(s) for s in (chain.dead, chain.until, chain.latency))
    steps = [
        ChainStep(s.name, s.depth, s.start_ns / 1e3, s.total_ns / 1e3, s.self_ns / 1e3) for s in chain.steps
    ]
    launches = [
        ChainLaunch(
            name=s.name,
            start_us=s.start_ns / 1e3,
            us=s.duration_ns / 1e3,
            kernel=s.kernel,
            latency_us=s.latency_ns / 1e3 if s.latency_ns >= 0 else None,
            kernel_us=s.kernel_ns / 1e3,
            stream=s.stream,
        )
        for s in chain.launches
    ]
    call = MedianCall(chain.op, chain.module, chain.file, chain.line, chain.shapes, steps, launches)
    return RecordedCalls(chain.calls, _spread(chain.duration), dead, until, latency, call)
