"""Steps as they happen: which optimizer call ends a training step, which module call is an inference.

Enter optimizer steps, backward passes, module calls and DataLoader starts of one
thread, in order; leave `step` marks and the question "may a window open or close here?".

A training step ends with the last optimizer of a cycle: a GAN that steps two
optimizers per batch makes one step per batch. The cycle is learned: the first time an
optimizer comes again, the step before it ended with the optimizer seen last; from then
on that optimizer ends a step at once. Accumulated gradients need no rule: a step
is what ends in an optimizer step, however many backward passes it holds.

Inference steps are decided after the run (`sonde.record.framework`), from
the outermost module calls; here they only pace the windows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class StepTracker:
    """Follows one thread. `emit(number, start_ns, end_ns, backward_calls)` writes a training step."""

    emit: Callable[[int, int, int, int], None]
    next_number: Callable[[], int]
    at_boundary: Callable[[int], None] = lambda end_ns: None
    start_ns: int = -1  # where the step under way began
    backwards: int = 0  # backward passes in the step under way
    cycle: set[int] = field(default_factory=set)  # optimizers that stepped in the step under way
    ends_cycle: int = 0  # the optimizer whose step ends a training step; 0: not known yet
    last_optimizer: int = 0
    last_end_ns: int = -1
    backwards_before: int = 0  # of those, how many came before the last optimizer finished
    restart_ns: int = -1  # a DataLoader started over after that
    trained: bool = False  # an optimizer has stepped: module calls are no steps of their own

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
        self.saw(time_ns)
        if optimizer in self.cycle:
            # Only now is it known that the cycle was complete when the last optimizer finished.
            self.ends_cycle = self.last_optimizer
            self._close(self.last_end_ns)
            self.cycle = set()

    def optimizer_finished(self, optimizer: int, time_ns: int) -> None:
        self.trained = True
        self.cycle.add(optimizer)
        self.last_optimizer = optimizer
        self.last_end_ns = time_ns
        self.backwards_before = self.backwards
        self.restart_ns = -1
        if optimizer == self.ends_cycle:
            self._close(time_ns)
            self.cycle = set()

    def finish(self) -> None:
        """End of the program: a step that awaits its proof is complete."""
        if self.cycle:
            self._close(self.last_end_ns)
            self.cycle = set()

    def _close(self, end_ns: int) -> None:
        self.emit(self.next_number(), self.start_ns, end_ns, self.backwards_before)
        self.start_ns = max(end_ns, self.restart_ns)
        self.backwards -= self.backwards_before
        self.backwards_before = 0
        self.at_boundary(end_ns)
