"""Which source files a recording takes: the project's own text, bounded, and nothing that looks like a key."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from sonde.columns import Table
from sonde.record.outside import sources
from sonde.record.outside.sources import project_roots, source_table
from sonde.store import build
from sonde.store.meta import Meta


@pytest.mark.parametrize(
    ("command", "program", "wanted"),
    [
        (["python", "/home/me/model/train.py"], "train.py", ["/tmp/runs", "/home/me/model"]),
        (["python", "../model/train.py"], "train.py", ["/tmp/runs", "/tmp/model"]),
        (["/usr/bin/torchrun", "x.py"], "torchrun", ["/tmp/runs"]),
        (["python", "/venv/bin/tool.py"], "tool.py", ["/tmp/runs"]),
        ([], "", ["/tmp/runs"]),
    ],
)
def test_the_script_is_the_users_own(command: list[str], program: str, wanted: list[str]) -> None:
    meta = Meta(program=program, command=command, directory="/tmp/runs")
    assert project_roots(meta) == [Path(folder) for folder in wanted]


def taken(folder: Path, *files: Path | str, started: str = "") -> Table:
    frames = build.table("frames", frame=list(range(len(files))), file=[str(f) for f in files])
    return source_table({"frames": frames}, Meta(directory=str(folder), started=started))


def test_a_file_is_kept_with_its_hash(tmp_path: Path) -> None:
    code = "x = 1\nname = 'é'\n"
    (tmp_path / "a.py").write_text(code, encoding="utf-8")
    table = taken(tmp_path, tmp_path / "a.py", started="2001-01-01T00:00:00+00:00")
    assert table.text("text").tolist() == [code]
    assert table.text("sha256").tolist() == [hashlib.sha256(code.encode()).hexdigest()]
    assert table.array("changed").tolist() == [True]
    assert taken(tmp_path, tmp_path / "a.py", started="2999-01-01T00:00:00+00:00").array(
        "changed"
    ).tolist() == [False]


def test_what_is_not_the_projects_own_text_is_not_taken(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    for name in (".ssh", ".hidden", "venv", "lib/python3.11", "site-packages"):
        (project / name).mkdir(parents=True)
    outside.mkdir()
    names = [
        ".ssh/id_rsa", ".hidden/a.py", ".env", "venv/a.py", "lib/python3.11/a.py", "site-packages/a.py",
        "id_rsa", "server.pem", "prod.key", "credentials", "secrets.yaml", "../outside/a.py",
    ]  # fmt: skip
    for name in names:
        (project / name).write_text("planted")
    (project / "link.py").symlink_to(outside / "a.py")
    os.mkfifo(project / "fifo.py")
    every = [project / name for name in [*names, "link.py", "fifo.py", "gone.py"]]
    assert len(taken(project, *every, "<string>", "relative.py", "\0", "/etc/passwd", "/dev/zero")) == 0


def test_what_cannot_be_kept_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_FILE_BYTES", 100)
    monkeypatch.setattr(sources, "MAX_BYTES", 150)
    contents = {
        "a.py": b"a" * 100, "b.py": b"b" * 101, "c.py": b"\xff\xfe", "d.py": b"x\0y", "e.py": b"e" * 90,
        "f.py": b"k = '''-----BEGIN RSA PRIVATE KEY-----'''",
    }  # fmt: skip
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    table = taken(tmp_path, *(tmp_path / name for name in contents))
    why = ["too large", "not text", "not text", "no room", "holds a private key"]
    assert table.text("left_out").tolist() == [None, *why]
    assert table.text("text").tolist() == ["a" * 100] + [None] * 5


def test_keys_in_the_code_are_hidden(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('login("h' + 'f_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh")\n')
    assert taken(tmp_path, tmp_path / "a.py").text("text").tolist() == ['login("***")\n']
