"""Whatever goes wrong, the user sees one line and the right exit code; never a traceback."""

from __future__ import annotations

import errno
import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from sonde.errors import EnvironmentLacks, InputError, UsageError, expected

entry = importlib.import_module("sonde.cli.main")
SONDE = [sys.executable, "-m", "sonde"]


class _Raises:
    """A command that fails."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def arguments(self, parser: object) -> None:
        pass

    def run(self, options: object) -> int:
        raise self.error


def _outcome(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[str]]:
    load = entry.load

    def loaded(name: str) -> object:
        return _Raises(error), load("pack")[1]

    monkeypatch.setattr(entry, "load", loaded)
    code = entry.main(["pack", "x"])
    return code, capsys.readouterr().err.splitlines()


def _no_file(number: int) -> OSError:
    return OSError(number, os.strerror(number), "/data/x.sonde")


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (_no_file(errno.ENOENT), 3, "/data/x.sonde: No such file"),
        (_no_file(errno.EACCES), 3, "/data/x.sonde: Permission denied"),
        (_no_file(errno.EISDIR), 3, "/data/x.sonde: Is a directory"),
        (_no_file(errno.ENOSPC), 4, "/data/x.sonde: No space left"),
        (_no_file(errno.EROFS), 4, "Read-only"),
        (OSError("only a text"), 3, "only a text"),
        (MemoryError(), 4, "memory"),
        (RecursionError(), 3, "nested too deeply"),
        (OverflowError("int too large"), 3, "out of range"),
        (UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed"), 3, "surrogates"),
        (duckdb.ConversionException("Conversion Error: no\n\nLINE 1: x\n        ^"), 3, "Conversion Error"),
        (duckdb.OutOfMemoryException("full"), 4, "full"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (UsageError("first\nsecond\n   ^", "hint"), 2, "first second → hint"),
        (InputError("\x1b[2Jred\u202e", None), 3, r"\x1b[2Jred\u202e"),
        (InputError("x" * 10**6), 3, "x" * 100),
        (IndexError("list index"), 70, "this is a bug in Sonde: IndexError: list index"),
    ],
)
def test_every_error_is_one_line_with_its_exit_code(
    error: BaseException,
    code: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("SONDE_TRACEBACK", raising=False)
    seen, lines = _outcome(error, monkeypatch, capsys)
    assert (seen, len(lines)) == (code, 1)
    assert says in lines[0]
    assert lines[0].startswith("sonde: ")
    assert len(lines[0]) < 2500
    assert all(c.isprintable() for c in lines[0])


def test_a_bug_tells_how_to_see_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SONDE_TRACEBACK", "1")
    code, lines = _outcome(IndexError("here"), monkeypatch, capsys)
    assert code == 70
    assert "Traceback (most recent call last):" in lines
    assert "SONDE_TRACEBACK=1" in lines[-1]


def test_what_nobody_expects_is_no_expected_error() -> None:
    assert expected(KeyError("x")) is None
    assert isinstance(expected(MemoryError()), EnvironmentLacks)


@pytest.mark.parametrize("words", ["--help", "show --help", "query --help"])
def test_a_reader_that_leaves_is_no_error(words: str, tmp_path: Path) -> None:
    command = f"{' '.join(SONDE)} {words} | head -c 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.split("\n")[0][-1] in "0123456789"
    assert done.stdout.split()[-1].endswith("0")


@pytest.mark.parametrize(
    ("where", "code", "says"), [("> /dev/full", 4, "sonde: No space left"), (">&-", 0, ""), ("2>&-", 0, "")]
)
def test_output_that_cannot_be_written_is_one_line(where: str, code: int, says: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(SONDE)} --help {where}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert done.stderr.startswith(says)
    assert len(done.stderr.splitlines()) == (1 if says else 0)


def test_nothing_that_takes_time_is_imported_before_interrupts_are_answered() -> None:
    script = "import sys; before = set(sys.modules); import sonde.cli.main; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    late = ("argparse", "importlib.util", "inspect", "sonde.errors", "numpy")
    assert not [name for name in late if f"'{name}'" in done.stdout], done.stdout


def test_an_interrupt_while_a_verb_is_imported_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(name: str) -> Callable[[], None]:
        raise KeyboardInterrupt

    monkeypatch.setattr("importlib.import_module", interrupted)
    assert entry.main(["show", "x", "ops"]) == 130
    assert capsys.readouterr().err == "sonde: interrupted\n"


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", "/proc/self/mem", "/"])
def test_what_is_no_file_is_refused(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.main(["show", path, "ops"]) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_pipe_does_not_block(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    assert entry.main(["show", str(tmp_path / "pipe.json"), "ops"]) == 3
    assert "no ordinary file" in capsys.readouterr().err


def test_names_that_are_no_text_are_printed(tmp_path: Path) -> None:
    made = tmp_path / os.fsdecode(b"\xff\xe9.txt")
    made.write_text("a;b 5\n")
    done = subprocess.run(
        [*SONDE, "show", made, "losses"], capture_output=True, check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert b"Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr
