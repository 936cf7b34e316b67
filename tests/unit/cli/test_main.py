"""The command line: words in, exit codes and one clear message out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.cli.inputs import fresh_path
from sonde.cli.main import COMMANDS, main
from sonde.errors import UsageError
from sonde.store.meta import Meta
from sonde.store.writer import write_tables
from tests.unit.store import recordings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "a.sonde"
    made.mkdir()
    write_tables(made, recordings.tables().values())
    Meta(program="a.py").write(made)
    return made


def test_help_lists_every_verb_without_loading_any(capsys: pytest.CaptureFixture[str]) -> None:
    before = set(sys.modules)
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {command}" in text for command in COMMANDS)
    assert not {m for m in set(sys.modules) - before if m.startswith(("sonde.cli.", "duckdb", "rich"))}


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_verb_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert "usage: sonde" in capsys.readouterr().out


def test_unknown_verb_suggests_the_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["qery"]) == 2
    assert "did you mean: sonde query" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["query", "{}", "SELECT 1"], ["show", "{}", "losses"], ["pack", "{}"]])
def test_bad_input_is_exit_code_3_and_one_line(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert main([w.format(tmp_path / "nothing.sonde") for w in words]) == 3
    error = capsys.readouterr().err.splitlines()
    assert error[0].startswith("sonde: ")
    assert len(error) == 1
    assert "→" in error[0], "it says what to do"
    assert sorted(tmp_path.rglob("*")) == before


def test_query_prints_tables_json_and_csv(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT name, self_ms FROM hot_frames ORDER BY self_ms DESC LIMIT 1"
    assert main(["query", str(folder), sql]) == 0
    assert capsys.readouterr().out == "name  self_ms\na        30.0\n1 row\n"
    assert main(["query", str(folder), "--json", sql]) == 0
    assert json.loads(capsys.readouterr().out) == [{"name": "a", "self_ms": 30.0}]
    assert main(["query", str(folder), sql, "--csv"]) == 0
    assert capsys.readouterr().out == "name,self_ms\na,30.0\n"
    assert main(["query", str(folder), "--schema"]) == 0
    assert "weight_ns" in capsys.readouterr().out


def test_show_threads_adds_up(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(folder), "threads", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(r["kind"], r["running_ms"], r["waiting_ms"], r["samples"]) for r in rows] == [
        ("main", 40.0, 0.0, 3), ("omp", 0.0, 5.0, 1),
    ]  # fmt: skip
    assert main(["show", str(folder), "threads"]) == 0
    assert "40.0 ms" in capsys.readouterr().out


def test_pack_never_overwrites(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", str(folder)]) == 0
    assert main(["pack", str(folder)]) == 0
    assert sorted(p.name for p in folder.parent.iterdir()) == ["a-2.sonde.zip", "a.sonde", "a.sonde.zip"]
    assert main(["pack", str(folder), "-o", str(folder.parent / "a.sonde.zip")]) == 2
    assert "already exists" in capsys.readouterr().err
    packed = folder.parent / "a.sonde.zip"
    assert main(["pack", "--unpack", str(packed), "-o", str(folder.parent / "b.sonde")]) == 0
    assert main(["show", str(folder.parent / "b.sonde"), "losses"]) == 0
    assert "ring_full" in capsys.readouterr().out


def test_force_never_deletes_a_folder_that_is_not_a_recording(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("…")
    with pytest.raises(UsageError, match="not a recording"):
        fresh_path(tmp_path / "thesis", tmp_path / "x", force=True)
    assert (tmp_path / "thesis" / "chapter1.tex").exists()


def test_analysis_spares_threads_that_it_never_uses_and_no_program_inherits_that() -> None:
    from sonde.cli.main import COMMANDS, STARTS_PROGRAMS, spare_threads

    def after(command: str, loaded: set[str], **environment: str) -> dict[str, str]:
        spare_threads(command, environment, loaded)
        return environment

    assert set(COMMANDS) > STARTS_PROGRAMS
    assert after("report", set()) == {"OPENBLAS_NUM_THREADS": "1"}
    assert after("report", set(), OPENBLAS_NUM_THREADS="4") == {
        "OPENBLAS_NUM_THREADS": "4"
    }  # the user's word
    assert after("report", {"numpy"}) == {}  # too late to matter, so nothing changes
    for command in ("run", "prove", "tune", "check"):
        assert after(command, set()) == {}


def test_an_answer_is_whole_and_exit_functions_have_run(folder: Path) -> None:
    """The process ends without taking its memory apart: nothing that was printed or registered may be lost."""
    code = (
        "import atexit, sys; from sonde.cli.main import main; "
        f"atexit.register(print, 'registered'); sys.argv = ['sonde', 'show', {str(folder)!r}, 'losses', '--json']; "
        "main(); print('taken apart')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer, last = done.stdout.rstrip("\n").rsplit("\n", 1)
    assert last == "registered"
    assert "rows" in json.loads(answer)
