"""`sonde bench` in a real repository: revisions, exit codes, files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from sonde.cli.main import main
from sonde.errors import UsageError
from sonde.experiment.gate.revisions import checked_out, current, default_base

pytestmark = pytest.mark.serial


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "p.py").write_text("import time; time.sleep(0.02)\n")
    git(tmp_path, "add", "p.py")
    git(tmp_path, "commit", "-qm", "one")
    git(tmp_path, "checkout", "-qb", "change")
    (tmp_path / "p.py").write_text("import time; time.sleep(0.4)\n")
    return tmp_path


def test_a_revision_is_a_folder_of_its_own_and_leaves_nothing(repository: Path) -> None:
    assert default_base(repository) == git(repository, "rev-parse", "main")
    assert current(repository).name.endswith("with changes")
    with checked_out(repository, "main") as base:
        assert "0.02" in (base.folder / "p.py").read_text()
    assert not base.folder.exists()
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    with pytest.raises(UsageError, match="rev-parse"), checked_out(repository, "nowhere"):
        pass


def test_a_slower_working_tree_ends_with_1(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(repository)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    words = ["bench", "--json", "--junit", "out.xml", "--budget", "4", "--", "python3", "-S", "p.py"]
    assert main(words) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["benchmarks"][0]["comparison"]["ratio"] > 1.2
    assert "failure" in (repository / "out.xml").read_text()


def test_without_a_command_the_project_lists_them(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository)
    assert main(["bench"]) == 2
    assert "[tool.sonde.bench]" in capsys.readouterr().err
    (repository / "pyproject.toml").write_text("[tool.sonde.bench]\nx = 3\n")
    assert main(["bench"]) == 3
    assert "other than commands" in capsys.readouterr().err
