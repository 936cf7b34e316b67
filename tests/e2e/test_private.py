"""A recording keeps no secret of the command line or the environment, and is its owner's alone."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

PROGRAM = """
import subprocess, sys
total = 0
for i in range(4_000_000):
    total += i * i
if "--child" not in sys.argv:
    secret = "-".join(["child", "secret"])
    words = ["--child", "--token", secret, f"--api-key={secret}", f"https://me:{secret}@host/"]
    subprocess.run([sys.executable, __file__, *words], check=True)
"""


def sonde(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sonde", *words],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("private")
    (made / "job.py").write_text(PROGRAM)
    before = os.umask(0)
    try:
        words = [
            "--keep-raw",
            "-o",
            "job.sonde",
            "job.py",
            "--token=main-secret",
            "--password",
            "main-secret",
        ]
        done = sonde("run", *words, cwd=made, PYTORCH_API_KEY="env-secret", OMP_NUM_THREADS="1")
        assert done.returncode == 0, done.stderr
        assert sonde("pack", "--raw", "job.sonde", cwd=made).returncode == 0
    finally:
        os.umask(before)
    assert sonde("report", "job.sonde", "-o", "job.html", cwd=made).returncode == 0
    return made


def test_no_file_of_it_holds_a_secret(folder: Path) -> None:
    paths = [p for p in (folder / "job.sonde").rglob("*") if p.is_file()]
    assert any(p.suffix == ".slog" for p in paths)
    for path in [*paths, folder / "job.html"]:
        data = path.read_bytes()
        for word in (b"main-secret", b"child-secret", b"env-secret"):
            assert word not in data, path
    done = sonde("query", "job.sonde", "SELECT command FROM processes", "--csv", cwd=folder)
    assert "--token=***" in done.stdout
    assert "https://***@host/" in done.stdout
    assert "secret" not in done.stdout


def test_contents_say_what_is_inside(folder: Path) -> None:
    done = sonde("show", "job.sonde", "contents", cwd=folder)
    assert done.returncode == 0, done.stderr
    for part in ("samples", "job.py", "--password", "***", "PYTORCH_API_KEY", "mode 0700", "Raw logs"):
        assert part in done.stdout
    assert "secret" not in done.stdout.replace("Secrets", "")


def test_only_the_owner_may_open_it(folder: Path) -> None:
    for path in (folder / "job.sonde", *(folder / "job.sonde").rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert stat.S_IMODE((folder / "job.sonde.zip").stat().st_mode) == 0o600


def test_the_source_is_in_it_unless_refused(folder: Path) -> None:
    asked = "SELECT text FROM sources WHERE file LIKE '%job.py'"
    assert "range(4_000_000)" in sonde("query", "job.sonde", asked, cwd=folder).stdout
    done = sonde("run", "--no-source", "-o", "bare.sonde", "job.py", "--child", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "0 rows" in sonde("query", "bare.sonde", asked, cwd=folder).stdout


def test_a_gift_runs_no_statement(folder: Path, tmp_path: Path) -> None:
    """The packed recording that wrote a file when it was shown."""
    evil = "x\"'], union_by_name=true); COPY (SELECT 1) TO 'owned.csv'; SELECT * FROM read_parquet(['.parquet"
    with (
        zipfile.ZipFile(folder / "job.sonde.zip") as whole,
        zipfile.ZipFile(tmp_path / "gift.sonde.zip", "w") as gift,
    ):
        for name in whole.namelist():
            gift.writestr(name, whole.read(name))
        gift.writestr(f"job.sonde/frames/{evil}", b"")
    done = sonde("show", "gift.sonde.zip", "stacks", cwd=tmp_path, TMPDIR=str(tmp_path))
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["gift.sonde.zip"]


def test_ctrl_c_and_timeout_end_a_query(folder: Path) -> None:
    endless = "SELECT count(*) FROM range(1000000000000000)"
    done = sonde("query", "job.sonde", endless, "--timeout", "0.5", cwd=folder)
    assert done.returncode == 2
    assert "--timeout" in done.stderr
    command = [sys.executable, "-m", "sonde", "query", "job.sonde", endless]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(4)  # until the statement runs; earlier is an interrupt as well
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert said.splitlines()[-1:] == ["sonde: interrupted"]
