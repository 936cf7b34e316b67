"""Whose time it is: waits that other programs cause are nobody's, and a backward pass is that of its forward lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sonde.columns import Text
from sonde.insights.engine import judge
from sonde.insights.rules import RULES
from sonde.insights.rules.host import costly_kind, costly_line
from sonde.insights.subject import Subject
from sonde.store.recording import Recording
from tests.unit.insights.made_loop import BACKWARD, FILE, GEMM, LOOP, MODEL, UPDATE, Spent, line, op
from tests.unit.insights.pairs.device import BUSY, LOADER, SYNC
from tests.unit.insights.pairs.device import LATE as LATE_KERNEL
from tests.unit.insights.pairs.recordings import Call, made, trace

RULES_OF_LINES = (costly_line.RULE, costly_kind.RULE)
COPY = Spent(8, 24, (line(5), op("aten::clone"), LOOP))
LATE = Spent(60, 21, (op("aten::mm"), GEMM), "backward", state="imbalance")
AWAY = Spent(40, 20, (), state="waiting", reason="preempted")
SAYS = {"threads": 2}


def crowded(*spent: Spent, **says: object) -> Recording:
    return made(*spent, says={**SAYS, **says}, machine={"usable_cpus": 2, "cpus": 2})


def test_waits_for_a_pool_whose_cores_others_hold_change_no_share() -> None:
    alone = judge(crowded(MODEL, BACKWARD, UPDATE, COPY), RULES_OF_LINES).insights[0]
    beside = judge(crowded(MODEL, AWAY, BACKWARD, LATE, UPDATE, COPY), RULES_OF_LINES).insights[0]
    assert (beside.rule, beside.line, beside.work) == (alone.rule, alone.line, alone.work)
    assert alone.saving is not None
    assert beside.saving is not None
    assert beside.saving.share == pytest.approx(alone.saving.share, abs=0.02)


@pytest.mark.parametrize(
    ("says", "own"), [({}, False), ({"threads": 8}, True), ({"affinity": {"main": 1}}, True)]
)
def test_threads_that_crowd_themselves_wait_for_their_own(says: dict[str, object], own: bool) -> None:
    subject = Subject(crowded(MODEL, AWAY, BACKWARD, LATE, UPDATE, **says))
    assert subject.crowded is not own
    waits = subject.host.pool
    assert (float(subject.host.weight[waits].sum()) < subject.host.whole_ns) is own


def test_what_strangers_cause_stands_behind_what_the_program_can_change() -> None:
    report = judge(crowded(MODEL, AWAY, BACKWARD, LATE, UPDATE, COPY), RULES)
    assert report.failed == {}
    order = [card.rule for card in report.insights]
    assert order[0] == "costly_line"
    assert set(order[-2:]) == {"spin_share", "neighbours"}


NODE = "Im2ColBackward0"
UNFOLD = Spent(4, 20, (line(9, "forward"), op("aten::im2col"), LOOP), "forward")
BACK = Spent(8, 21, (op("autograd::engine"), op(NODE), op("aten::copy_"), LOOP), "backward")


def unfolding(*lines: int) -> Recording:
    """Windows saw the backward node made at these lines, in equal parts."""
    calls = [Call(NODE, 8 + n, 1, line=at) for n, at in enumerate(lines)]
    recording = made(MODEL, UNFOLD, BACK, UPDATE, calls=[Call("aten::im2col", 6, 1, line=9), *calls])
    ops = recording.table("ops")
    kind = ["backward" if name == NODE else "op" for name in ops.text("name").tolist()]
    tables = {**{t.name: t for t in recording.tables()}, "ops": ops.with_columns(kind=Text.of(kind))}
    return Recording(replace(recording.meta), tables)


def test_the_backward_pass_of_a_line_is_that_lines() -> None:
    card = judge(unfolding(9), (costly_line.RULE,)).insights[0]
    assert (card.file, card.line, card.work) == (FILE, 9, "copies")
    assert card.saving is not None
    assert card.saving.high_ms / card.saving.of_ms > (4 + 8) / 19  # forward and backward
    assert 21 in [e.line for e in card.evidence]


def test_a_node_of_many_lines_stays_where_the_backward_pass_is_called() -> None:
    subject = Subject(unfolding(7, 8, 9))
    assert not subject.caused.moved.any()


def test_a_device_that_waits_for_input_does_not_wait_for_the_synchronisation_before_it() -> None:
    """After the wait the host makes a batch: the idle time is the loader's alone."""
    busy, late = replace(BUSY, device_us=2950), replace(LATE_KERNEL, device_us=5000)
    loader = replace(LOADER, at=3100, lasts=1900)
    with_loader = [card.rule for card in judge(trace(busy, SYNC, loader, late), RULES).insights]
    without = [card.rule for card in judge(trace(busy, SYNC, late), RULES).insights]
    assert "gpu_input" in with_loader
    assert "host_sync" not in with_loader
    assert "host_sync" in without
