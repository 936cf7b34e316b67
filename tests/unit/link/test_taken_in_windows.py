"""What a look found taken away lies where the window that it reaches over counted it."""

from __future__ import annotations

import pytest

from sonde.analyze.recording.taken_away import pieces_of
from sonde.columns import Table
from sonde.link.taken_in_windows import with_taken_in_windows
from sonde.store import build
from tests.unit.analyze.test_taken_away import waits

MS = 1_000_000


def windows(*spans: tuple[float, float, float]) -> Table:
    """(start, end) in ms and the share that was taken, of thread 0."""
    return build.table(
        "marks",
        len(spans),
        kind=["window"] * len(spans),
        thread=[0] * len(spans),
        start_ns=[round(s * MS) for s, _, _ in spans],
        end_ns=[round(e * MS) for _, e, _ in spans],
        extra=[f'{{"taken_share":{share}}}' for _, _, share in spans],
    )


@pytest.mark.parametrize(("share", "wanted_ms"), [(0.0, 0), (0.25, 5), (1.0, 20)])
def test_a_look_over_a_window_is_split_as_the_window_counted(share: float, wanted_ms: float) -> None:
    samples = waits([(0, 60), (200, 30)])
    linked = with_taken_in_windows({"samples": samples, "marks": windows((40, 60, share))})["samples"]
    pieces = pieces_of(linked, 0)
    assert pieces.within([40 * MS], [60 * MS]) == pytest.approx(wanted_ms * MS, abs=2)
    assert pieces.within([0], [100 * MS]) == 60 * MS
    assert pieces.total_ns == 90 * MS
    assert linked.array("time_ns").tolist() == [0, 40 * MS, 60 * MS, 100 * MS, 200 * MS]


def test_looks_within_a_long_window_are_kept_and_the_edges_take_the_rest() -> None:
    samples = waits([(0, 50), (100, 50), (200, 50)])
    linked = with_taken_in_windows({"samples": samples, "marks": windows((80, 220, 70 / 140))})["samples"]
    pieces = pieces_of(linked, 0)
    assert pieces.within([100 * MS], [200 * MS]) == 50 * MS
    assert pieces.within([80 * MS], [220 * MS]) == pytest.approx(70 * MS, abs=2)
    assert pieces.total_ns == 150 * MS


def test_nothing_changes_where_no_window_counted() -> None:
    marks = windows((40, 60, 0.5)).with_columns(extra=type(windows().text("extra")).full(1, None))
    assert with_taken_in_windows({"samples": waits([(0, 60)]), "marks": marks}) == {}
    assert with_taken_in_windows({"samples": waits([(0, 60)]), "marks": windows((140, 160, 0.5))}) == {}
