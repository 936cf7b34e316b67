"""`sonde top` driven by keys, on a job whose log grows while it is watched."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from textual.widgets import DataTable, Static

from sonde.errors import EnvironmentLacks
from sonde.live.following import Following
from sonde.live.picture import Picture, ProcessNow, Row, Steps, callers, picture
from sonde.render.top import lines
from sonde.render.top.app import Look, Page, Top, Watched
from tests.unit.store import slog
from tests.unit.store.slog import Slog


def job(folder: Path, heavy: int = 30, light: int = 10) -> Path:
    """A process whose main thread was seen `heavy` times in hot() and `light` times in cold(), called by main()."""
    now = time.monotonic_ns()
    log = Slog().base(now - 2_000_000_000).header()
    log.record(slog.THREAD_START, 0, 42, now - 2_000_000_000, "main", 1, 0)
    for number, name in enumerate(("main", "hot", "cold"), 1):
        log.record(slog.CODE, number, name, "/work/train.py", 10 * number, b"")
    log.record(slog.PYTHON_NODE, 1, 0, 1, ("z", -1), 1, 0)
    log.record(slog.PYTHON_NODE, 2, 1, 2, ("z", -1), 1, 0)
    log.record(slog.PYTHON_NODE, 3, 1, 3, ("z", -1), 1, 0)
    for _ in range(heavy):
        log.sample(0, 10_000_000, 0, 2, 10_000_000)
    for _ in range(light):
        log.sample(0, 10_000_000, 0, 3, 10_000_000)
    raw = folder / "raw"
    raw.mkdir(parents=True)
    (raw / "42.1000.slog").write_bytes(log.data())
    return folder


def test_the_picture_of_a_growing_log_adds_up(tmp_path: Path) -> None:
    following = Following(job(tmp_path / "job.sonde"), keep_s=600)
    assert following.poll()
    assert not following.poll()
    recording = following.recording(600)
    now = picture(recording, following.covered_s(600))
    assert (now.samples, now.cpu_ns) == (40, 400_000_000)
    assert [(row.name.split()[0], round(row.share, 3)) for row in now.functions] == [
        ("hot", 0.75),
        ("cold", 0.25),
    ]
    assert now.states["running"] == 1.0
    assert [row.name for row in callers(recording, now.functions[0].name)] == ["main (train.py:10)"]
    assert not following.ended
    following.close()


def test_names_that_are_forgotten_are_named_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonde.live.following.MOST_STACKS", 0)
    following = Following(job(tmp_path / "job.sonde"), keep_s=600)
    following.poll()
    assert len(following.recording(600).table("samples")) == 0
    following.close()


def text(app: Top) -> str:
    """The bottom line, whatever lies above the tables."""
    return str(app.screen_stack[0].query_one("#keys", Static).content)


def drive(watched: Watched, *keys: str) -> tuple[Top, list[str]]:
    """Press keys one after the other; the program and what each of them put at the bottom of the screen."""
    told = []

    async def session() -> Top:
        app = Top(watched)
        async with app.run_test(size=(80, 24)) as pilot:
            for _ in range(100):
                if app.query_one(DataTable).row_count:
                    break
                await pilot.pause(0.05)
            for key in keys:
                await pilot.press(key)
                await pilot.pause(0.1)
                for _ in range(100):  # an action says that it has begun, then how it ended
                    if not text(app).endswith("…"):
                        break
                    await pilot.pause(0.05)
                told.append(text(app))
            app.last_page = isinstance(app.screen, Page)  # type: ignore[attr-defined]
            table = app.screen_stack[0].query_one(DataTable)
            app.shown = [table.get_row_at(i)[-1] for i in range(table.row_count)]  # type: ignore[attr-defined]
        return app

    return asyncio.run(session()), told


def actions(following: Following) -> Watched:
    def refuse() -> str:
        raise EnvironmentLacks("no window here")

    def look() -> Look:
        return Look(*following.look(600.0), following.ended)

    return Watched(look, window=refuse, save=lambda: "Saved x.sonde", dump=lambda: "Thread 42")


def test_keys_choose_order_filter_freeze_and_act(tmp_path: Path) -> None:
    following = Following(job(tmp_path / "job.sonde"), keep_s=600)
    app, told = drive(actions(following), "3", "o", "space", "s", "w")
    assert app.shown[0].startswith("hot")  # type: ignore[attr-defined]
    assert "order: trend" in told[1]
    assert "FROZEN" in told[2]
    assert "Saved x.sonde" in told[3]
    assert "no window here" in told[4]
    app, _ = drive(actions(following), "3", "slash", "c", "o", "l", "d", "enter")
    assert [row.split()[0] for row in app.shown] == ["cold"]  # type: ignore[attr-defined]
    for key in ("enter", "question_mark", "d"):
        app, _ = drive(actions(following), "3", key)
        assert app.last_page  # type: ignore[attr-defined]
    following.close()


def example() -> Picture:
    steps = Steps(0, "train", 20, 119, 25.0, 30.0, 38.5, tuple(float(20 + i % 5) for i in range(20)), {})
    ranks = [ProcessNow(100 + i, i, "rank", "python train.py", 0.9, 1 << 30, 25.0, 38.5) for i in range(2)]
    return Picture(
        "train.py", 10.0, 18_000_000_000, 1800, {"running": 0.6, "spinning": 0.4, "imbalance": 0.0},
        {"op": 1.0}, 0.25, [steps],
        [Row("main (train.py:3)", 9_000_000_000, 0.5, 900)], [], [], [], [], ranks, 7,
    )  # fmt: skip


def test_the_head_fits_its_width_and_says_what_matters() -> None:
    head = lines.head(example(), 80, 0.008)
    assert all(len(line) <= 80 for line in head)
    text = "\n".join(lines.head(example(), 200, 0.008))
    for part in (
        "2 processes, 2 ranks",
        "1.80 CPUs",
        "0.8 % of a CPU",
        "25.0 % of the time",
        "Step 25.0 ms",
        "#119",
    ):
        assert part in text
    assert "lost samples 7" in text


def test_trends_follow_a_row_that_comes_and_goes() -> None:
    trends = lines.Trends()
    for share in (0.1, 0.1, 0.3):
        trends.add(Picture("p", 1, 1, 1, {}, {}, 0, [], [Row("a", 1, share, 1)], [], [], [], [], [], 0))
    assert trends.of("lines", "a") == [0.1, 0.1, 0.3]
    assert trends.change("lines", "a") == pytest.approx(0.2)
    for _ in range(lines.TREND_PICTURES):
        trends.add(Picture("p", 1, 1, 1, {}, {}, 0, [], [], [], [], [], [], [], 0))
    assert trends.of("lines", "a") == []


def test_one_picture_as_text_has_every_table_that_has_rows() -> None:
    text = "\n".join(lines.plain(example(), 100))
    assert "your lines" in text
    assert "main (train.py:3)" in text
    assert "operator" not in text
