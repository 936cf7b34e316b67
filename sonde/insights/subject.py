"""What rules look at: a recording with the facts that many rules share, each computed once and only when asked.

Enters: a `Recording`, complete or not. Leaves: its steady steps (`judged_steps.py`), the samples of the thread that
makes the steps, pool workers, operator calls of profiling windows, settings of the program. Every fact that the
recording lacks raises `NotEnough` with what to record; no fact is ever made up.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from sonde import json_text
from sonde.analyze.account.kinds import CODES
from sonde.analyze.account.slices import Sliced, sliced
from sonde.analyze.account.stack_kinds import kind_of_samples
from sonde.analyze.account.waited_for import work_waited_for
from sonde.analyze.samples.stack_index import Mask
from sonde.columns import Array, Table
from sonde.insights.calls import Calls, window_calls
from sonde.insights.caused import Caused, caused
from sonde.insights.host_samples import Host as Host
from sonde.insights.judged_steps import JudgedSteps
from sonde.insights.line_facts import NOTHING_KNOWN, RAN_ONCE, LineFacts, Loop, line_facts, outer_loop
from sonde.insights.model import Evidence, NotEnough, Saving
from sonde.insights.settings import answers
from sonde.insights.shares import Share, widened, wilson
from sonde.insights.source_facts import FileFacts, source_facts

BUSY_WAITS = ("spinning", "imbalance")  # states of samples on the CPU that do no work
STRETCHES = 8  # of a run, whose differences tell how steady a share is
# Of what remains, when all of a step is won back: caches, the allocator and the lock are freer. Ours: loaders, lists
# and copies that were taken out of the pitfalls gained up to so much more than their own time.
REST_GETS_FASTER = 0.25
FAULTS_PER_S, LEAST_HIDDEN = 20_000.0, 0.10  # fresh pages, and CPU time in the kernel that no sample shows
FEWEST_SAMPLES = 30  # host samples below which there is no verdict: a quarter is uncertain by 15 points
# Rules hold the lower end of an interval against their thresholds, so that fewer make wide savings, not false ones.
FEWEST_LOOKS = 12
RECORD_SAMPLES = "too few samples in steady steps: run more steps, or record with a higher --rate"


def too_few(seen: int) -> str:
    """Why there is no verdict."""
    return f"{RECORD_SAMPLES} ({seen} seen, {FEWEST_SAMPLES} needed)"


class Subject(JudgedSteps):
    """One recording under judgement."""

    # Samples ----------------------------------------------------------------

    @cached_property
    def judged_stacks(self) -> Sliced:
        """Kind of work and line of every stack (`sonde.analyze.account`)."""
        return sliced(self.stacks, self.table("samples"), self.thread)

    @cached_property
    def host_kinds(self) -> Array:
        """Code of the kind of work of each host sample."""
        return self._kinds(self.judged_stacks.kinds, faults=True)

    @cached_property
    def host_work(self) -> Array:
        """The same for what goes away with a line: page faults belong to the work that writes fresh memory."""
        return self._kinds(self.judged_stacks.of_work, faults=False)

    def _kinds(self, of_stack: Array, faults: bool) -> Array:
        own = kind_of_samples(self.host.samples, self.host.stack, of_stack, faults)
        return np.where(self.host.behind >= 0, self.host.behind, own)

    @cached_property
    def caused(self) -> Caused:
        """The user's line behind each host sample, of the backward pass the forward line."""
        return caused(self)

    def in_steady(self, time_ns: Array) -> Mask:
        """Which moments fall into steady steps."""
        spans = self.steady
        at = np.searchsorted(spans.starts, time_ns, "right") - 1
        inside: Mask = (at >= 0) & (time_ns < spans.ends[np.maximum(at, 0)])
        return inside

    @cached_property
    def cpus(self) -> int:
        """CPUs that the program may use: affinity and quota; 1 when nothing is known."""
        usable = self.meta.machine.get("usable_cpus") or self.meta.machine.get("cpus") or 1
        quota = self.settings.get("quota_cpus")
        paid = int(quota) if isinstance(quota, (int, float)) and quota >= 1 else int(usable)
        return max(min(int(usable), paid), 1)

    @cached_property
    def crowded(self) -> bool:
        """Whether other programs hold cores of this one's pool: its threads then wait for those that are off the CPU.

        That wait is none of the program's own, and no claim and no share counts it. Threads that outnumber the CPUs
        or share one by their own binding crowd each other: that is the program's own.
        """
        threads, bound = self.settings.get("threads"), self.settings.get("affinity")
        most = int(threads) if isinstance(threads, int) else 1
        pinned = isinstance(bound, dict) and int(bound.get("main", most)) < min(most, self.cpus)
        return self.taken.matters and most <= self.cpus and not pinned

    @cached_property
    def host(self) -> Host:
        samples = self.table("samples")
        mine = np.flatnonzero(
            (samples.array("thread") == self.thread) & self.in_steady(samples.array("time_ns"))
        )
        behind = work_waited_for(samples, self.table("threads"), self.stacks, self.judged_stacks.kinds)[mine]
        samples = samples.take(mine)
        weight = np.maximum(samples.array("weight_ns"), 0).astype(np.float64)
        waiting = samples.text("state").equals("waiting") & (behind < 0)
        preempted = waiting & samples.text("reason").equals("preempted")
        everything = float(weight.sum())
        lost = float(weight[preempted].sum()) / everything if everything else 0.0
        keep = ~preempted
        samples, weight, waiting = samples.take(np.flatnonzero(keep)), weight[keep], waiting[keep]
        behind = behind[keep]
        running = weight[~samples.text("state").equals("waiting")]
        period = (
            float(np.median(running)) if len(running) else float(np.median(weight)) if len(weight) else 1.0
        )
        pool = samples.text("state").matches(BUSY_WAITS) | (waiting & samples.text("reason").equals("idle"))
        counted = ~pool if self.crowded else np.ones(len(weight), np.bool_)
        whole = float(weight[counted].sum())
        # Waits are measured one by one: a long one is worth as many looks as samples would have fallen into it.
        looks = max(int(counted.sum()), int(whole / max(period, 1.0)))
        if looks < FEWEST_LOOKS and pool.any():  # hardly any of its own: then shares are of all
            whole = float(weight.sum())
            looks = max(len(samples), int(whole / max(period, 1.0)))
        if looks < FEWEST_LOOKS:
            raise NotEnough(too_few(looks))
        stack = samples.array("stack").astype(np.int64)
        stack = np.where((stack >= 0) & (stack < len(self.stacks)), stack, -1)
        unseen = max(1 - everything / max(float(self.steady.total_ns), 1.0), 0.0)
        return Host(
            samples, stack, weight, waiting, pool, whole, whole / max(period, 1.0), lost, unseen, behind
        )

    def host_mask(self, stacks: Mask) -> Mask:
        """Host samples whose stack is in a mask over `stacks`.

        On a busy machine a thread waits for those of its pool whose CPU another program has: that is not the work
        that its stack names, and in no claim.
        """
        at = self.host.stack
        if not len(stacks):
            return np.zeros(len(at), np.bool_)
        found: Mask = (at >= 0) & stacks[np.maximum(at, 0)]
        return found & ~self.host.pool if self.crowded else found

    def host_with(self, name: str | None = None, **columns: str) -> Mask:
        """Host samples with a matching frame anywhere on their stack."""
        index = self.stacks
        return self.host_mask(index.on_stack(index.frames_where(name, **columns)))

    def host_in_op(self, pattern: str) -> Mask:
        """Host samples inside an operator whose name matches."""
        return self.host_with(pattern, layer="^op$")

    def host_at(self, places: Iterable[tuple[str, int]]) -> Mask:
        """Host samples with one of these lines of the user anywhere on their stack."""
        index = self.stacks
        files, lines = index.frames.text("file"), index.frames.array("line")
        wanted = np.zeros(len(index.frames), np.bool_)
        for file, line in places:
            wanted |= files.equals(file) & (lines == line)
        return self.host_mask(index.on_stack(wanted & index.users_python))

    def places(self, claim: Mask) -> set[tuple[str, int]]:
        """The user's own lines (file, line) that are innermost in these host samples."""
        at = self.host.stack[claim]
        rows = np.unique(self.stacks.user_line[at[at >= 0]]) if len(self.stacks) else np.zeros(0, np.int64)
        frames = self.stacks.frames
        return {
            (frames.text("file")[r] or "", int(frames.array("line")[r])) for r in rows[rows >= 0].tolist()
        }

    def share(self, claim: Mask) -> Share:
        """Share of the step that the host samples in the mask stand for.

        Its bounds are the wider of two: what the number of samples leaves open, and what the run itself
        shows, where stretches of it differ by more than that (another program, a clock that changes).
        """
        host = self.host
        counted = wilson(float(host.weight[claim].sum()), host.whole_ns, host.looks)
        counted_ns = np.where(host.pool, 0.0, host.weight) if self.crowded else host.weight
        whole = np.bincount(self._stretch, counted_ns, STRETCHES)
        if (whole <= 0).any():
            return counted
        return widened(counted, np.bincount(self._stretch[claim], host.weight[claim], STRETCHES) / whole)

    @cached_property
    def _stretch(self) -> Array:
        """For each host sample the stretch of the run that it is in: so many of equal numbers of samples."""
        order = np.argsort(self.host.samples.array("time_ns"), kind="stable")
        found = np.empty(len(order), np.int64)
        found[order] = np.arange(len(order)) * STRETCHES // max(len(order), 1)
        return found

    def saving(self, share: Share, low: float = 1.0, high: float = 1.0) -> Saving:
        """What a step would lose if a fix won back `low` to `high` of a share.

        The step is as long as everywhere; its share is of all steady steps. At most the rest of the step gets faster
        too, the more so the more is gone.
        """
        most = min(share.high * high, 1.0)
        most = 1 - (1 - most) * (1 - REST_GETS_FASTER * most)
        least = share.low * low if low >= 0 else share.high * low
        return Saving(min(least, most) * self.step_ms, most * self.step_ms, self.step_ms)

    def lines(self, claim: Mask, limit: int = 2) -> list[Evidence]:
        """The user's own lines behind host samples, heaviest first, as evidence."""
        host = self.host
        at = host.stack[claim]
        frame = np.where(at >= 0, self.stacks.user_line[np.maximum(at, 0)], -1) if len(self.stacks) else at
        frames = self.stacks.frames
        known = frame >= 0
        weight = np.bincount(frame[known], host.weight[claim][known], minlength=len(frames))
        found: dict[tuple[str, int, str], float] = {}
        for row in np.flatnonzero(weight).tolist():
            place = (
                frames.text("file")[row] or "",
                int(frames.array("line")[row]),
                frames.text("name")[row] or "",
            )
            found[place] = found.get(place, 0.0) + float(weight[row])
        ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
        return [
            Evidence(
                f"{name} ({file.rpartition('/')[2]}:{line}): {ns / host.whole_ns:.1%} of the step",
                "line",
                name,
                file,
                line,
            )
            for (file, line, name), ns in ordered[:limit]
        ]

    @cached_property
    def each_other(self) -> float:
        """Share of the stepping process's CPU time, in steady steps, in which threads of a pool wait for each other."""
        threads, samples = self.table("threads"), self.table("samples")
        mine = threads.array("thread")[threads.array("process") == self.process]
        chosen = np.isin(samples.array("thread"), mine) & self.in_steady(samples.array("time_ns"))
        state, weight = samples.text("state"), np.maximum(samples.array("weight_ns"), 0)
        whole = float(weight[chosen & ~state.equals("waiting")].sum())
        return float(weight[chosen & state.matches(BUSY_WAITS)].sum()) / whole if whole else 0.0

    @cached_property
    def workers(self) -> Table:
        """Samples of the pool workers of the same process, in steady steps."""
        threads, samples = self.table("threads"), self.table("samples")
        mine = threads.array("thread")[
            (threads.array("process") == self.process) & threads.text("kind").equals("omp")
        ]
        chosen = np.isin(samples.array("thread"), mine) & self.in_steady(samples.array("time_ns"))
        return samples.take(np.flatnonzero(chosen))

    # Marks and settings ---------------------------------------------------------

    def marks(self, kind: str) -> Table:
        """Marks of one kind of the process that makes the steps."""
        marks = self.table("marks")
        return marks.take(
            np.flatnonzero(marks.text("kind").equals(kind) & (marks.array("process") == self.process))
        )

    def steady_marks(self, kind: str, name: str | None = None) -> Table:
        """Marks of one kind that begin in steady steps."""
        marks = self.marks(kind)
        keep = self.in_steady(marks.array("start_ns"))
        if name is not None:
            keep &= marks.text("name").equals(name)
        return marks.take(np.flatnonzero(keep))

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What the program said about itself: threads, flags, optimizer, loaders. Later words win."""
        found: dict[str, Any] = {}
        marks = self.table("marks")
        rows = marks.text("kind").equals("settings")
        with contextlib.suppress(NotEnough):  # no steps: any process may speak
            rows &= marks.array("process") == self.process
        for text in marks.text("extra").take(np.flatnonzero(rows)).tolist():
            for key, value in answers(json_text.object_of(text)).items():
                grows = key in ("loaders", "optimizers")
                found[key] = [*found.get(key, []), *value] if grows else value
        return found

    @cached_property
    def environment(self) -> dict[str, str]:
        """Variables that steer speed: at the start, and as the program set them."""
        return {**self.meta.environment, **self.settings.get("environment", {})}

    def need_settings(self) -> dict[str, Any]:
        if not self.settings:
            raise NotEnough("the program's settings were not recorded: record it with sonde run")
        return self.settings

    def counter_steady(self, name: str) -> float:
        """Growth of a counter over the steady steps, per second."""
        counters = self.table("counters")
        rows = counters.text("name").equals(name) & np.isin(counters.array("process"), [self.process, -1])
        time_ns, value = counters.array("time_ns")[rows], counters.array("value")[rows]
        inside = (time_ns >= self.steady.starts[0]) & (time_ns < self.steady.ends[-1])
        time_ns, value = time_ns[inside], value[inside]
        if len(value) < 2 or time_ns.max() <= time_ns.min():
            raise NotEnough(f"too few readings of {name} in steady steps: run for some seconds")
        first, last = int(time_ns.argmin()), int(time_ns.argmax())
        return float((value[last] - value[first]) / ((time_ns[last] - time_ns[first]) / 1e9))

    @cached_property
    def hides_faults(self) -> bool:
        """Whether most of the time in copies and elementwise work is the kernel's, giving it fresh pages.

        A sample need not hold the kernel's part of its stack; the system's own count of CPU time does.
        """
        try:
            system, user = self.counter_steady("cpu_system_ns"), self.counter_steady("cpu_user_ns")
            faults = self.counter_steady("minor_faults")
        except NotEnough:
            return False
        host, running = self.host, ~self.host.waiting
        whole = float(host.weight[running].sum())
        seen = float(host.weight[running & self.host_with(layer="^kernel$")].sum()) / max(whole, 1.0)
        moving = np.isin(self.host_kinds, [CODES["copies"], CODES["memory"]]) & running
        moved = float(host.weight[moving].sum()) / max(whole, 1.0)
        hidden = system / max(system + user, 1.0) - seen
        return faults > FAULTS_PER_S and hidden > LEAST_HIDDEN and hidden > moved / 2

    # Lines -----------------------------------------------------------------------------

    @cached_property
    def line_facts(self) -> dict[tuple[str, int], LineFacts]:
        """What windows learnt of single lines."""
        return line_facts(self.table("marks"))

    def facts_of(self, file: str, line: int) -> LineFacts:
        """Of one line. Windows leave out lines that run once in a step and make nothing that can be read."""
        once = RAN_ONCE if file in self._seen_files else NOTHING_KNOWN
        return self.line_facts.get((file, line), once)

    @cached_property
    def _seen_files(self) -> set[str]:
        return {file for file, _ in self.line_facts}

    @cached_property
    def outer_loop(self) -> Loop | None:
        """The loop of a program without steps, where it was found."""
        return outer_loop(self.table("marks"))

    @cached_property
    def source_facts(self) -> dict[str, FileFacts]:
        """What the text of the program's own files says."""
        return source_facts(self.table("sources"))

    def called_at(self, *names: str) -> tuple[str, int]:
        """The user's first line that calls one of these functions; ("", -1) when none does."""
        known = self.source_facts.items()
        found = (
            (file, facts.calls[name][0]) for name in names for file, facts in known if name in facts.calls
        )
        return next(found, ("", -1))

    # Operator calls ---------------------------------------------------------------

    @cached_property
    def calls(self) -> Calls:
        """Operator calls of the profiling windows (of a trace: of all its steps), with self times."""
        return window_calls(self)

    def call_share(self, rows: Mask) -> Share:
        """Share of a steady step in these calls of the windows (see `Calls.share`).

        The profiler makes a step in a window longer, by a cost per call. So the share of long calls is at least what
        the window shows, and at most that times how much longer its steps are.
        """
        seen = self.calls.share(rows)
        longer = max(self.calls.whole_ns / max(self.calls.steps, 1) / self.step_ns, 1.0)
        return Share(min(seen, 1.0), min(seen, 1.0), min(seen * longer, 1.0), float(self.calls.steps))
