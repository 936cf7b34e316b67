"""When to open a window and for how many steps, so that all windows cost at most a share of run time.

Pure: no clock, no torch. Enter step durations and what each window cost; leave the
decision. The cost of the first window is guessed high from the model's size and
then replaced by what windows really cost.
"""

from __future__ import annotations

from collections.abc import Callable

FEWEST_STEPS_BEFORE = 3  # compilers, caches and allocators settle in the first steps
MOST_STEPS_BEFORE = 20  # after this many the program is as steady as it gets
STEADY_RATIO = 1.25
WINDOW_STEPS = 3
# The first window may use the whole share, so that a short program gets one. Those after it add precision, not
# knowledge, and ticks cost as well: all together keep to a quarter of it.
LATER_SHARE = 0.25
# Without any window a dozen rules cannot judge. So two steps are recorded soon after the work is steady (two, to see
# what changes between them), though the share does not allow it yet, unless a very large model makes that expensive.
FIRST_AFTER_S, FIRST_MOST_S, FIRST_STEPS = 0.4, 0.3, 2
MOST_WINDOWS = 8
STEPS_BETWEEN = 10
GUESS_FIXED_S = 0.012
# Measured: a training step of a convnet (62 modules, SGD) costs 35 ms, of a GPT (53, AdamW) 60 to 85 ms, most of it
# to stop and save. A guess too low spends the budget of a short program with its first window.
GUESS_PER_MODULE_S = 0.0011
MOST_TIMES_EVENTS = 4.0
MOST_AGAIN = 3  # disturbed windows that are taken again: a machine that is always busy has no better ones


class Budget:
    """The account of one process. Times in seconds of CPU.

    A plain class: to make a dataclass takes a millisecond in every program that imports torch.
    """

    def __init__(self, share: float, modules: int = 1) -> None:
        self.share = share
        self.modules = modules  # modules of the largest root seen, for the first guess
        self.durations_s: list[float] = []
        self.worked_s = 0.0  # in steps outside windows
        self.spent_s = 0.0
        self.windows = 0
        self.again = 0  # windows that were disturbed
        self.fixed_s = -1.0  # learned cost of a window apart from its steps
        self.per_step_s = -1.0  # learned cost of a step inside a window
        self.since_window = 0
        self.next_look = 0  # no use asking before so many steps since the last window

    def step(self, duration_s: float) -> None:
        """A step outside windows took this long."""
        self.since_window += 1
        self.worked_s += duration_s
        self.durations_s.append(duration_s)
        if len(self.durations_s) > 64:
            del self.durations_s[:32]

    def slowdown_s(self, steps: int, inside_s: float, by_events_s: float) -> float:
        """What `steps` that took `inside_s` in a window cost more than others, at least `by_events_s`.

        Steps vary by themselves, so no more than a few times what the number of events makes likely is believed.
        """
        if not self.durations_s:
            return by_events_s
        recent = sorted(self.durations_s[-MOST_STEPS_BEFORE:])
        slower_s = inside_s - steps * recent[len(recent) // 2]
        return min(max(slower_s, by_events_s), MOST_TIMES_EVENTS * by_events_s)

    def expected_s(self, steps: int) -> float:
        """What a window of so many steps would cost."""
        if self.per_step_s >= 0:
            return self.fixed_s + steps * self.per_step_s
        return GUESS_FIXED_S + steps * self.modules * GUESS_PER_MODULE_S

    def steps_to_record(self, cpu_s: Callable[[], float]) -> int:
        """Steps to record from this boundary on, 0 for none now. `cpu_s` tells the process's CPU time."""
        if self.since_window < self.next_look or self.windows >= MOST_WINDOWS or not self._steady():
            return 0
        share = self.share * LATER_SHARE if self.windows else self.share
        left_s = share * cpu_s() - self.spent_s
        first = not self.windows and not self.again
        # One step cannot tell what changes between steps: where two are cheap, the first window waits for them.
        two = first and self.expected_s(FIRST_STEPS) <= FIRST_MOST_S
        for steps in range(WINDOW_STEPS, FIRST_STEPS - 1 if two else 0, -1):
            if self.expected_s(steps) <= left_s:
                return steps
        if first and self.worked_s >= FIRST_AFTER_S and self.expected_s(1) <= FIRST_MOST_S:
            return FIRST_STEPS if self.expected_s(FIRST_STEPS) <= FIRST_MOST_S else 1
        self.next_look = self.since_window + 1 + self.since_window // 8  # asking costs time as well
        return 0

    def steps_to_skip(self) -> int:
        """Steps that may pass unseen: all but the last few before the next look."""
        if self.windows >= MOST_WINDOWS:
            return 1 << 62
        skip = self.next_look - self.since_window - FEWEST_STEPS_BEFORE - 2
        if skip <= 0:
            return 0
        self.since_window += skip
        del self.durations_s[:-MOST_STEPS_BEFORE]
        return skip

    def window(self, steps: int, control_s: float, extra_s: float, again: bool = False) -> None:
        """A window is over: `control_s` to start, stop and save, `extra_s` its steps' slowdown.

        `again`: other programs disturbed it, so another shall follow soon; what it cost counts all the same.
        """
        self.again += again
        if not again or self.again > MOST_AGAIN:
            self.windows += 1
        self.since_window = 0
        self.next_look = STEPS_BETWEEN * 2**self.windows
        cost = control_s + extra_s
        self.spent_s += cost
        # Saving grows with the steps; a fifth stands for what does not.
        self.fixed_s = cost * 0.2
        self.per_step_s = cost * 0.8 / max(steps, 1)

    def _steady(self) -> bool:
        if len(self.durations_s) < FEWEST_STEPS_BEFORE:
            return False
        if len(self.durations_s) >= MOST_STEPS_BEFORE:
            return True
        recent = self.durations_s[-FEWEST_STEPS_BEFORE:]
        middle = sorted(recent)[len(recent) // 2]  # of three; `statistics` would cost an import of 3 ms
        return max(recent) <= STEADY_RATIO * middle and min(recent) * STEADY_RATIO >= middle
