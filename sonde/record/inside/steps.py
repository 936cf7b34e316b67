"""Steps as they happen: which optimizer call ends a training step, which module call is an inference.

Enter optimizer steps, backward passes, module calls and DataLoader starts of one
thread, in order; leave `step` records and the question "may a window open or close here?".

A training step ends with the last optimizer of a cycle: a GAN that steps two
optimizers per batch makes one step per batch. The cycle is learned: the first time an
optimizer comes again, the step before it ended with the optimizer seen last; from then
on that optimizer ends a step at once. Accumulated gradients need no rule: a step
is what ends in an optimizer step, however many backward passes it holds.

Steps of programs whose optimizer is out of sight (inference, or an optimizer that is part of a compiled
graph) are decided after the run (`sonde.ingest.observers.found_steps`), from the outermost calls;
here those only pace the windows.
"""

from __future__ import annotations

from collections.abc import Callable

SHORT_NS = 2_000_000  # steps shorter than this would pay more than half a percent for their phases
SHORT_IN_A_ROW = 64
SHOWN_EVERY = 16
SHORT_CALL_NS = 200_000  # inference calls shorter than this are counted in bursts
BURST_NS = 2_000_000  # a burst lasts about so long


class StepTracker:
    """Follows one thread. `emit(start_ns, end_ns, number, backward_calls)` writes a training step."""

    __slots__ = (
        "at_boundary",
        "backwards",
        "backwards_before",
        "cycle",
        "emit",
        "ends_cycle",
        "last_end_ns",
        "last_optimizer",
        "members",
        "next_number",
        "restart_ns",
        "start_ns",
        "trained",
    )

    def __init__(
        self,
        emit: Callable[[int, int, int, int], None],
        next_number: Callable[[], int],
        at_boundary: Callable[[int], None] = lambda end_ns: None,
    ) -> None:
        self.emit = emit
        self.next_number = next_number
        self.at_boundary = at_boundary
        self.start_ns = -1  # where the step under way began
        self.backwards = 0  # backward passes in the step under way
        self.cycle: set[int] = set()  # optimizers that stepped in the step under way
        self.ends_cycle = 0  # the optimizer whose step ends a training step; 0: not known yet
        self.members: frozenset[int] = frozenset()  # optimizers of the last whole cycle
        self.last_optimizer = 0
        self.last_end_ns = -1
        self.backwards_before = 0  # of those, how many came before the last optimizer finished
        self.restart_ns = -1  # a DataLoader started over after that
        self.trained = False  # an optimizer has stepped: module calls are no steps of their own

    def saw(self, time_ns: int) -> None:
        """Some work of a step began; the first one starts the first step."""
        if self.start_ns < 0:
            self.start_ns = time_ns

    def loader_started(self, time_ns: int) -> None:
        """A DataLoader starts over: what lay between the last step and here (validation) is no step."""
        if self.backwards == self.backwards_before:
            self.restart_ns = time_ns
            if not self.cycle:
                self.start_ns = time_ns

    def backward(self) -> None:
        self.backwards += 1

    def optimizer_started(self, optimizer: int, time_ns: int) -> None:
        if self.start_ns < 0:
            self.start_ns = time_ns
        if optimizer in self.cycle:
            # Only now is it known that the cycle was complete when the last optimizer finished.
            self.ends_cycle = self.last_optimizer
            self._close(self.last_end_ns)

    def optimizer_finished(self, optimizer: int, time_ns: int) -> None:
        if optimizer == self.ends_cycle and not self.cycle:
            # The usual case, written out: this runs once per step of every program.
            self.emit(self.start_ns, time_ns, self.next_number(), self.backwards)
            self.start_ns, self.backwards, self.restart_ns = time_ns, 0, -1
            self.at_boundary(time_ns)
            return
        self.trained = True
        self.backwards_before = self.backwards
        self.restart_ns = -1
        if optimizer == self.ends_cycle:
            self._close(time_ns)
            return
        self.cycle.add(optimizer)
        self.last_optimizer = optimizer
        self.last_end_ns = time_ns

    def finish(self) -> None:
        """End of the program: a step that awaits its proof is complete."""
        if self.cycle:
            self._close(self.last_end_ns)

    def _close(self, end_ns: int) -> None:
        self.emit(self.start_ns, end_ns, self.next_number(), self.backwards_before)
        self.start_ns = max(end_ns, self.restart_ns)
        self.backwards -= self.backwards_before
        self.backwards_before = 0
        self.members = frozenset((*self.cycle, self.ends_cycle))
        self.cycle.clear()
        self.at_boundary(end_ns)


class Pace:
    """Decides which steps have their phases recorded: all, or one in sixteen once steps are known to be short.

    The steps themselves are always recorded, with the number of backward passes as -1 where it was not counted.
    """

    __slots__ = ("_in_a_row",)

    def __init__(self) -> None:
        self._in_a_row = 0

    def quiet_steps(self, duration_ns: int, unwatched: int) -> int:
        """A step took so long, and windows need not see so many: how many shall go without phases?"""
        if duration_ns >= SHORT_NS:
            self._in_a_row = 0
            return 0
        self._in_a_row += 1
        return SHOWN_EVERY - 1 if self._in_a_row > SHORT_IN_A_ROW and unwatched >= SHOWN_EVERY else 0


class Burst:
    """Short inference calls of one module: one record per burst with the number of calls.

    A record costs a microsecond, too much beside a call of ten. Inside a burst a call costs one
    decrement; the count stays exact and the duration is the burst's average.
    """

    __slots__ = ("_in_a_row", "left", "pointer", "size", "start_ns")

    def __init__(self) -> None:
        self.pointer = 0
        self.left = 0  # calls of the burst that are still to come
        self.size = 0  # calls of the burst in all; 0 when none is under way
        self.start_ns = 0
        self._in_a_row = 0

    def begins(self, pointer: int, start_ns: int, end_ns: int) -> bool:
        """After a call of a program that does not train: does it open a burst, so that it needs no record?"""
        if end_ns - start_ns > SHORT_CALL_NS or pointer != self.pointer:
            self.pointer, self._in_a_row = pointer, 0
            return False
        self._in_a_row += 1
        if self._in_a_row < 32:
            return False
        self.size = max(BURST_NS // max(end_ns - start_ns, 1_000), 2)
        self.left = self.size - 1
        self.start_ns = start_ns
        return True
