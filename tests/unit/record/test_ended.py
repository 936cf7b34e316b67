"""Lines that processes leave at their end → rows with CPU time, each counted once."""

from __future__ import annotations

from pathlib import Path

from sonde.columns import Table, Text
from sonde.ingest.agent.ended import read_ended, with_ended
from sonde.store import build


def line(pid: int, start: int, end: int, user: int, how: str = "exit", parent: int = 1) -> str:
    return "\t".join(map(str, (pid, parent, start, end, user, 0, 4096, how, "/bin/x"))) + "\n"


def rows(*images: tuple[int, int, int]) -> Table:
    """(pid, start, CPU time or -1) of each log."""
    pid, start, user = zip(*images, strict=True)
    return build.table(
        "processes",
        process=range(len(images)),
        pid=pid,
        start_ns=start,
        cpu_user_ns=user,
        cpu_system_ns=[0 if u >= 0 else -1 for u in user],
        engine=Text.of(["timer"] * len(images)),
    )


def joined(tmp_path: Path, table: Table, *lines: str) -> Table:
    (tmp_path / "ended.tsv").write_text("".join(lines))
    return with_ended(table, read_ended(tmp_path))


def used(table: Table) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for pid, user in zip(table.array("pid").tolist(), table.array("cpu_user_ns").tolist(), strict=True):
        found.setdefault(pid, []).append(user)
    return found


def test_a_process_without_a_log_gets_a_row_below_its_parent(tmp_path: Path) -> None:
    table = joined(tmp_path, rows((10, 100, 900)), line(11, 200, 300, 50, parent=10), line(10, 90, 999, 900))
    assert used(table) == {10: [900], 11: [50]}
    assert table.array("parent").tolist() == [-1, 0]
    assert table.text("engine").tolist() == ["timer", None]


def test_a_log_without_an_end_gets_its_time(tmp_path: Path) -> None:
    assert used(joined(tmp_path, rows((10, 100, -1)), line(10, 90, 999, 700))) == {10: [700]}


def test_programs_in_a_row_are_counted_once(tmp_path: Path) -> None:
    lines = (line(10, 90, 199, 300, "exec"), line(10, 200, 999, 700))
    assert used(joined(tmp_path, rows((10, 100, 300), (10, 210, -1)), *lines)) == {10: [300, 400]}


def test_a_program_too_short_for_a_log_counts_with_its_successor(tmp_path: Path) -> None:
    lines = (line(10, 90, 199, 30, "exec"), line(10, 200, 999, 700))
    assert used(joined(tmp_path, rows((10, 210, 670)), *lines)) == {10: [700]}


def test_an_exec_that_failed_is_forgotten(tmp_path: Path) -> None:
    lines = (line(10, 90, 199, 30, "exec"), line(10, 90, 200, 31, "stay"), line(10, 90, 999, 700))
    assert used(joined(tmp_path, build.empty("processes"), *lines)) == {10: [700]}


def test_a_pid_that_was_used_again_is_another_process(tmp_path: Path) -> None:
    lines = (line(10, 90, 199, 300), line(10, 500, 999, 40))
    assert used(joined(tmp_path, build.empty("processes"), *lines)) == {10: [300, 40]}


def test_lines_that_are_cut_or_strange_are_left_out(tmp_path: Path) -> None:
    strange = "10\t1\n\nx\ty\n" + line(12, 1, 2, 3, how="flew") + "-5\t" * 8 + "x\n" + line(13, 1, 2, 3)[:-9]
    assert read_ended(tmp_path) == []
    (tmp_path / "ended.tsv").write_text(strange)
    assert read_ended(tmp_path) == []
