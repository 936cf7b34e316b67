"""Training steps hold training alone: validation and saving between two of them are in neither."""

from __future__ import annotations

from sonde.analyze.steps.program import step_reports
from sonde.columns import Table
from sonde.link.step_bounds import with_step_bounds
from sonde.store import build

MS = 1_000_000
GRAD = '{"grad": true}'


def marks(passes: dict[int, int], usual: int = 0) -> Table:
    """Twenty steps of 10 ms: forward, backward, optimizer.

    Step n begins with `passes[n]` passes of 5 ms without gradients, every step has `usual` more of 1 ms.
    """
    rows: list[tuple[str, str, int, int, str | None]] = []
    at = 0
    for number in range(20):
        start = at
        for length in [5] * passes.get(number, 0) + [1] * usual:
            rows.append(("phase", "forward", at, at + length, None))
            at += length
        rows += [
            ("phase", "forward", at, at + 3, GRAD),
            ("phase", "backward", at + 3, at + 8, None),
            ("phase", "optimizer", at + 8, at + 10, None),
        ]
        at += 10
        rows.append(("step", "train", start, at, None))
    return build.table(
        "marks",
        process=[0] * len(rows),
        thread=[0] * len(rows),
        kind=[r[0] for r in rows],
        name=[r[1] for r in rows],
        number=[*range(len(rows))],
        start_ns=[r[2] * MS for r in rows],
        end_ns=[r[3] * MS for r in rows],
        extra=[r[4] for r in rows],
    )


def lengths(table: Table) -> list[int]:
    """Of all steps, to the start of the next one where that counts."""
    (report,) = step_reports(with_step_bounds({"marks": table}).get("marks", table))
    return [step.duration_ns // MS for step in report.steps]


def test_validation_every_ten_steps_is_in_no_step() -> None:
    assert lengths(marks({0: 8, 10: 8})) == [10] * 20


def test_passes_without_gradients_in_every_step_belong_to_it() -> None:
    assert lengths(marks({}, usual=2)) == [12] * 20


def test_validation_beside_a_target_network_is_still_found() -> None:
    assert lengths(marks({5: 8}, usual=1)) == [11] * 20


def test_saving_before_the_first_phase_of_a_step_is_in_no_step() -> None:
    table = marks({})
    later = table.array("start_ns") >= 100 * MS
    # Step 10 begins at 100 ms; all its phases and what follows come 30 ms later.
    step = table.text("kind").equals("step") & (table.array("start_ns") == 100 * MS)
    table = table.with_columns(
        start_ns=table.array("start_ns") + 30 * MS * (later & ~step),
        end_ns=table.array("end_ns") + 30 * MS * later,
    )
    tables = {
        "marks": table,
        "threads": build.table("threads", thread=[0], process=[0], kind=["main"]),
        "frames": build.table(
            "frames", frame=[0], layer=["python"], name=["save"], file=["/x/torch/serialization.py"]
        ),
        "stacks": build.table("stacks", stack=[0], parent=[-1], frame=[0]),
        "samples": build.table(
            "samples",
            time_ns=[110 * MS, 120 * MS],
            thread=[0, 0],
            stack=[0, -1],
            state=["running"] * 2,
            weight_ns=[8 * MS, 2 * MS],
        ),
    }
    moved = with_step_bounds(tables)["marks"]
    starts = moved.array("start_ns")[moved.text("kind").equals("step")]
    assert 130 * MS in starts
    assert 100 * MS not in starts
