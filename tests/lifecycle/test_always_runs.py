"""Whatever keeps Sonde from recording, the program runs: its own output, its own exit code, one line of Sonde's."""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lifecycle.commanded import CLONE, quality, sonde

PROGRAM = """
import sys, time
end = time.process_time() + 0.2
while time.process_time() < end: pass
print("out", *sys.argv[1:])
sys.exit(7)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "prog.py"
    path.write_text(PROGRAM)
    return path


def lines_of_sonde(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    """What Sonde said before the program started; it is quiet afterwards."""
    assert (done.returncode, done.stdout) == (7, b"out\n"), done.stderr
    assert b"Traceback" not in done.stderr
    return done.stderr.decode().splitlines()


@pytest.mark.parametrize(
    "name", [b"\xff\xe9.py", b"back\\slash.py", b"new\nline.py", b"it's.py", b'"quoted".py', b" .py"]
)
def test_any_name_of_a_script(tmp_path: Path, name: bytes) -> None:
    path = os.fsencode(tmp_path) + b"/" + name
    Path(os.fsdecode(path)).write_text(PROGRAM)
    done = sonde("run", "--quiet", path, cwd=tmp_path)
    assert lines_of_sonde(done) == []
    (folder,) = tmp_path.glob("*.sonde")
    assert quality(folder)["samples"] > 0


@pytest.mark.parametrize("name", [b"d\xff", b"back\\slash", b"new\nline", b"it's", b'"quoted"'])
def test_any_name_of_the_working_directory(script: Path, name: bytes) -> None:
    folder = Path(os.fsdecode(os.fsencode(script.parent) + b"/" + name))
    folder.mkdir()
    done = sonde("run", "--quiet", "../prog.py", cwd=folder)
    assert lines_of_sonde(done) == []
    assert (folder / "prog.sonde" / "samples").is_dir()


def test_an_output_whose_name_cannot_be_used_is_renamed(script: Path) -> None:
    done = sonde("run", "--quiet", "-o", b"r\xff.sonde", script, cwd=script.parent)
    assert lines_of_sonde(done) == [
        "sonde: r\\xff.sonde cannot be used (its name is not UTF-8); recording to r_.sonde"
    ]
    assert quality(script.parent / "r_.sonde")["samples"] > 0


def test_an_output_that_is_a_file_is_left_alone(script: Path) -> None:
    (script.parent / "r.sonde").write_text("mine")
    done = sonde("run", "--quiet", "-o", "r.sonde", script, cwd=script.parent)
    assert lines_of_sonde(done) == [
        "sonde: r.sonde cannot be used (File exists: r.sonde); recording to r-2.sonde"
    ]
    assert (script.parent / "r.sonde").read_text() == "mine"
    assert quality(script.parent / "r-2.sonde")["samples"] > 0


def test_an_output_with_a_path_too_long_for_the_agent(script: Path) -> None:
    deep = Path(*["d" * 100] * 4)
    done = sonde("run", "--quiet", "-o", deep / "r.sonde", script, cwd=script.parent, env={"TMPDIR": "/tmp"})
    (line,) = lines_of_sonde(done)
    assert "at most 399 are possible" in line
    recorded = Path(line.rpartition(" recording to ")[2])
    assert quality(recorded)["samples"] > 0
    subprocess.run(["rm", "-r", recorded], check=True)


def _with_mounts(script: Path, mounts: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """`sonde run` in the script's folder, after `mounts` in a namespace of its own."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("needs a mount namespace (root)")
    run = shlex.join([sys.executable, "-m", "sonde", "run", "--quiet", str(script)])
    command = f"{mounts}; cd {shlex.quote(str(script.parent))}; exec {run}"
    return subprocess.run(
        ["unshare", "-m", "sh", "-ec", command],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(CLONE), **environment},
    )


def test_a_working_directory_that_cannot_be_written(script: Path, tmp_path: Path) -> None:
    other = tmp_path / "temporary"
    other.mkdir()
    here = tmp_path / "here"
    here.mkdir()
    moved = script.rename(here / script.name)
    done = _with_mounts(
        moved, f"mount --bind {here} {here}; mount -o remount,bind,ro {here}", TMPDIR=str(other)
    )
    assert lines_of_sonde(done) == [
        "sonde: prog.sonde cannot be used (Read-only file system: prog.sonde); "
        f"recording to {other}/prog.sonde"
    ]
    assert quality(other / "prog.sonde")["samples"] > 0


def test_a_full_disk_from_the_start(script: Path, tmp_path: Path) -> None:
    other, here = tmp_path / "temporary", tmp_path / "here"
    other.mkdir()
    here.mkdir()
    fill = f"mount -t tmpfs -o size=64k tmpfs {here}; cp {script} {here}; cat /dev/zero > {here}/x 2>/dev/null || true"
    done = _with_mounts(here / script.name, fill, TMPDIR=str(other))
    (line,) = lines_of_sonde(done)
    assert line.startswith("sonde: prog.sonde cannot be used (No space left on device")
    assert quality(other / "prog.sonde")["samples"] > 0


def test_nowhere_to_write_at_all(script: Path) -> None:
    mounts = "; ".join(
        f"mount --bind {folder} {folder}; mount -o remount,bind,ro {folder}"
        for folder in (script.parent, "/tmp", "/var/tmp", "/usr/tmp")
        if Path(folder).is_dir()
    )
    done = _with_mounts(script, mounts)
    (line,) = lines_of_sonde(done)
    assert line.startswith("sonde: the program runs without being recorded: Read-only file system")


@pytest.mark.parametrize("megabytes", [100, 200, 300, 500])
def test_little_memory(script: Path, megabytes: int) -> None:
    size = megabytes << 20
    done = sonde(
        "run", "--quiet", "-o", script.parent / "r.sonde", script,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
    )  # fmt: skip
    assert len(lines_of_sonde(done)) <= 1
    if not done.stderr:
        assert quality(script.parent / "r.sonde")["samples"] > 0


@pytest.mark.parametrize("variable", ["HOME", "TMPDIR", "PATH", "LANG"])
@pytest.mark.parametrize("value", [None, "/nonexistent/folder"])
def test_variables_that_lead_nowhere(script: Path, variable: str, value: str | None) -> None:
    environment = {**os.environ, "PYTHONPATH": str(CLONE)}
    environment.pop(variable, None)
    if value:
        environment[variable] = value
    command = [sys.executable, "-m", "sonde", "run", "--quiet", str(script)]
    done = subprocess.run(command, capture_output=True, cwd=script.parent, env=environment)
    assert lines_of_sonde(done) == []
    assert quality(script.parent / "prog.sonde")["samples"] > 0
    subprocess.run(["rm", "-rf", "/nonexistent"], check=True)


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_streams(script: Path, closed: tuple[int, ...]) -> None:
    words = [str(script)]
    seen = []
    for command in ([sys.executable], [sys.executable, "-m", "sonde", "run", "-o", "r.sonde"]):
        shut = " ".join(f"{n}>&-" for n in closed)
        line = f"exec {shlex.join(command + words)} {shut}"
        environment = {**os.environ, "PYTHONPATH": str(CLONE)}
        done = subprocess.run(["sh", "-c", line], capture_output=True, cwd=script.parent, env=environment)
        seen.append((done.returncode, done.stdout))
        assert b"Traceback" not in done.stderr
    assert seen[0] == seen[1]
    assert quality(script.parent / "r.sonde")["samples"] > 0


def test_a_working_directory_that_is_gone(script: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = (
        f"rmdir {gone}; exec {shlex.join([sys.executable, '-m', 'sonde', 'run', '--quiet', str(script)])}"
    )
    environment = {**os.environ, "PYTHONPATH": str(CLONE), "TMPDIR": str(tmp_path)}
    done = subprocess.run(["sh", "-c", command], capture_output=True, cwd=gone, env=environment)
    (line,) = lines_of_sonde(done)
    assert line.endswith(f"recording to {tmp_path}/prog.sonde")
    assert quality(tmp_path / "prog.sonde")["samples"] > 0


def test_an_environment_that_leaves_no_room_for_more(script: Path) -> None:
    """One string of an environment may be 128 KiB long: with the agent in front LD_PRELOAD is over that."""
    limit = (128 << 10) - len("LD_PRELOAD=") - 1
    preload = ":".join(["/nonexistent.so"] * (limit // 16))
    preload += "x" * (limit - len(preload) - 8)
    loud = subprocess.run(
        [sys.executable, script], capture_output=True, env={**os.environ, "LD_PRELOAD": preload}
    )
    assert loud.returncode == 7
    (script.parent / "env").write_text(f"LD_PRELOAD={preload}\n")
    done = sonde("run", "--quiet", "--env-file", "env", "-o", "r.sonde", script, cwd=script.parent)
    assert (done.returncode, done.stdout) == (7, b"out\n")
    said = [line for line in done.stderr.decode().splitlines() if line.startswith("sonde: ")]
    assert len(said) == 1
    assert "was not recorded" in said[0]


def test_a_crash_of_sonde_itself_changes_nothing(script: Path, tmp_path: Path) -> None:
    """duckdb is replaced by something that kills whoever loads it."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "duckdb.py").write_text("import os; os.kill(os.getpid(), 9)\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}/broken:{CLONE}"}
    command = [sys.executable, "-m", "sonde", "run", "--quiet", "-o", "r.sonde", str(script)]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment)
    (line,) = lines_of_sonde(done)
    assert "killed by SIGKILL" in line
