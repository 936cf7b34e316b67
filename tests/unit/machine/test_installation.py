"""Two distributions that own `sonde`: said by `sonde check`, and by the command of the other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sonde.machine import installation


def distribution(folder: Path, name: str, version: str) -> None:
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def test_our_own_distribution_is_no_clash(tmp_path: Path) -> None:
    distribution(tmp_path, "sonde-profiler", "0.1.0")
    assert installation.find([str(tmp_path)]) == []


def test_the_other_sonde_is_an_error_with_a_repair(tmp_path: Path) -> None:
    distribution(tmp_path, "sonde-profiler", "0.1.0")
    distribution(tmp_path, "sonde", "0.2.0")
    (finding,) = installation.find([str(tmp_path)])
    assert finding.severity == "error"
    assert "sonde 0.2.0" in finding.what
    assert "--force-reinstall" in finding.fix


def test_the_command_of_the_other_ends_with_one_line() -> None:
    # What pip writes for its entry point `sonde = sonde.cli:main`.
    script = "import sys; from sonde.cli import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True)
    assert done.returncode == 1
    assert done.stderr.startswith("sonde: the distribution sonde")
    assert len(done.stderr.splitlines()) == 1


def test_the_entry_point_of_ours_is_not_touched_by_that() -> None:
    script = "import sys; from sonde.cli.main import main; sys.exit(main(['--version']))"
    done = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True)
    assert done.stdout.startswith("sonde "), done.stderr
