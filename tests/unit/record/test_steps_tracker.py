"""Training steps from optimizer calls, with a clock that counts events."""

from __future__ import annotations

import numpy as np

from sonde.ingest.observers.events import Events
from sonde.ingest.observers.found_steps import found_steps
from sonde.record.inside.events import BACKWARD, FORWARD
from sonde.record.inside.steps import StepTracker


class Program:
    """Plays a training loop and collects the steps that the tracker emits."""

    def __init__(self) -> None:
        self.now = 0
        self.steps: list[tuple[int, int, int, int]] = []
        self.boundaries: list[int] = []
        self.tracker = StepTracker(
            lambda start, end, number, backwards: self.steps.append((number, start, end, backwards)),
            lambda: len(self.steps),
            self.boundaries.append,
        )

    def tick(self) -> int:
        self.now += 10
        return self.now

    def backward(self) -> None:
        self.tracker.saw(self.tick())
        self.tracker.backward()

    def step(self, optimizer: int) -> None:
        self.tracker.optimizer_started(optimizer, self.tick())
        self.tracker.optimizer_finished(optimizer, self.tick())


def test_one_optimizer_makes_one_step_per_call() -> None:
    program = Program()
    for _ in range(5):
        program.backward()
        program.step(1)
    program.tracker.finish()
    assert [row[0] for row in program.steps] == [0, 1, 2, 3, 4]
    assert program.steps[0] == (0, 10, 30, 1)
    assert program.steps[1] == (1, 30, 60, 1)
    assert [row[2] for row in program.steps] == [30, 60, 90, 120, 150]


def test_the_first_step_ends_when_it_ended_not_when_it_was_understood() -> None:
    program = Program()
    program.backward()
    program.step(1)  # ends at 30
    program.backward()
    program.step(1)
    assert program.boundaries == [30, 60]


def test_accumulated_gradients_are_one_step() -> None:
    program = Program()
    for _ in range(3):
        for _ in range(4):
            program.backward()
        program.step(1)
    program.tracker.finish()
    assert [row[3] for row in program.steps] == [4, 4, 4]


def test_two_optimizers_per_batch_make_one_step_per_batch() -> None:
    program = Program()
    for _ in range(6):
        program.backward()
        program.step(1)
        program.backward()
        program.step(2)
    program.tracker.finish()
    assert len(program.steps) == 6
    assert all(row[3] == 2 for row in program.steps)


def test_a_critic_that_steps_five_times_per_generator_step_counts_batches() -> None:
    program = Program()
    for batch in range(20):
        program.backward()
        program.step(1)
        if batch % 5 == 4:
            program.backward()
            program.step(2)
    program.tracker.finish()
    assert len(program.steps) in (20, 21)  # the last generator step awaits a batch that never comes


def test_one_optimizer_per_parameter_inside_backward_is_one_step() -> None:
    program = Program()
    for _ in range(4):
        program.backward()
        for parameter in range(30):
            program.step(100 + parameter)
    program.tracker.finish()
    assert len(program.steps) == 4


def test_validation_between_epochs_is_no_part_of_the_next_step() -> None:
    program = Program()
    for _ in range(2):
        program.backward()
        program.step(1)
    program.tick()
    program.tracker.loader_started(1000)
    program.now = 1000
    program.backward()
    program.step(1)
    assert program.steps[-1][1:3] == (1000, 1030)


def test_a_program_that_never_steps_emits_nothing() -> None:
    program = Program()
    program.backward()
    program.tracker.finish()
    assert program.steps == []


def test_weights_that_are_updated_by_hand_make_whole_steps() -> None:
    """The first step has its forward pass, each later one lasts from backward pass to backward pass."""
    rows = [(FORWARD, 10, 15), (BACKWARD, 15, 20), (FORWARD, 22, 25), (BACKWARD, 25, 30)]
    code, start, end = (np.array(column) for column in zip(*rows, strict=True))
    same = np.ones(len(rows), np.int64)
    found = found_steps(Events(same, code, start, end, same, same))
    assert found is not None
    name, began, ended, _ = found
    assert (name, began.tolist(), ended.tolist()) == ("train", [10, 20], [20, 30])
