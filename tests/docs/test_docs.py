"""What README and docs print is run, pages that are made are up to date, the site builds strictly.

A command is run with stand-ins for the files it names: made-up recordings, a real trace. Those that are not run
here are in ELSEWHERE, with the test that runs them or the reason why nothing can. All are parsed by the command's
own parser, so that an option that does not exist fails whatever the list says.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from sonde.cli.main import _parse, load, main
from tests.docs.commands import ROOT, Command, commands
from tests.e2e.test_assistants import gpt_run
from tests.environments import FOLDER

TRACES = ROOT / "tests" / "data" / "traces" / "multirank" / "megatron_tp8"
# First word, and a word that must be there too: why it is not run here.
ELSEWHERE: dict[tuple[str, ...], str] = {
    (
        "run",
    ): "tests/e2e/test_run.py, test_entries.py, test_trainers.py, tests/lifecycle start programs of every kind",
    ("demo",): "tests/e2e/test_demo.py",
    ("top",): "needs a running program: tests/live",
    ("attach",): "needs a running program: tests/live/test_attach.py",
    ("window",): "needs a running program: tests/live/test_attach.py",
    ("daemon",): "needs a running program: tests/live/test_daemon.py",
    ("watch",): "needs a running program: tests/unit/live/test_watch.py, tests/lifecycle/test_ring.py",
    ("show", "rank"): "needs a job of several ranks: tests/ranks",
    ("dump",): "needs a running program: tests/live/test_dump.py",
    ("hang",): "needs a job that hangs: tests/live",
    ("tune",): "minutes: tests/e2e/test_tune.py",
    ("bench",): "minutes: tests/e2e/test_bench.py",
    ("prove", "--before"): "minutes: tests/e2e/test_prove.py",
    ("prove", "loader_stall"): "minutes: tests/e2e/test_prove.py",
    ("prove", "RULE"): "a form, not a command",
    ("recover",): "needs a killed program: tests/e2e, tests/unit/record/test_recover.py",
    ("merge",): "needs recordings of several hosts: tests of merging",
    ("mcp",): "waits for a client: tests/e2e/test_assistants.py",
    ("insights", "ray"): "needs Ray: tests/golden/test_ranks.py",
    ("insights", "--verify"): "minutes: tests/unit/cli/test_verify.py",
    ("explain", "FRAME"): "a form, not a command",
    ("show", "--rank"): "needs a job of several ranks: tests of ranks in tests/e2e",
    ("check",): "reads the machine: tests/unit/machine, tests/lifecycle/test_check_limits.py",
}


def reason(command: Command) -> str | None:
    words = command.words
    for key, why in ELSEWHERE.items():
        if words and words[0] == key[0] and all(word in words for word in key[1:]):
            return why
    return None


@pytest.mark.parametrize("command", commands(), ids=lambda c: f"{c.page}: {c.text}"[:90])
def test_its_options_exist(command: Command) -> None:
    words = command.words
    if not words or words[0] == "--help" or "…" in command.text:
        return
    parsed = load(words[0])
    assert _parse(parsed[1], words[1:]) is not None


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recording and a trace to copy."""
    folder = tmp_path_factory.mktemp("docs")
    gpt_run(folder / "made.sonde")
    return folder


@pytest.mark.parametrize(
    "command", [c for c in commands() if reason(c) is None], ids=lambda c: f"{c.page}: {c.text}"[:90]
)
def test_it_runs(command: Command, stand_ins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = command.words
    for word in words[1:]:
        path = tmp_path / word
        if word.startswith("-") or words[words.index(word) - 1] in ("-o", "--markdown", "--html"):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if word.endswith(".sonde") and not path.exists():
            shutil.copytree(stand_ins / "made.sonde", path)
        elif word.endswith(".json.gz"):
            shutil.copy(TRACES / "megatron_kineto_0.json.gz", path)
        elif word.endswith("/"):
            path.mkdir()
            for rank in (0, 1):
                shutil.copy(TRACES / f"megatron_kineto_{rank}.json.gz", path)
    out, err = io.StringIO(), io.StringIO()
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")  # some formats are bytes
    with redirect_stdout(stdout), redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as end:
            code = int(end.code or 0)
    assert code == 0, f"{command.text}: {err.getvalue()[-500:]}{out.getvalue()[-500:]}"


def test_nothing_is_listed_that_no_page_prints() -> None:
    printed = [c.words for c in commands()]
    for key in ELSEWHERE:
        assert any(w and w[0] == key[0] and all(word in w for word in key[1:]) for w in printed) or key in (
            ("recover",), ("mcp",), ("explain", "FRAME"), ("insights", "--verify"), ("demo",),
        ), f"{key} is in ELSEWHERE and in no page"  # fmt: skip


def test_made_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/docs/generate.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    python = FOLDER / "docs" / "bin" / "python"
    if not python.exists():
        pytest.skip("needs mkdocs: make .make/environments/docs/ready")
    done = subprocess.run(
        [str(python), "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for tag in (
            '<script src="http',
            '<link rel="stylesheet" href="http',
            '<img src="http',
            "fonts.googleapis",
        ):
            assert tag not in text, f"{page.name} loads from elsewhere: {tag}"
