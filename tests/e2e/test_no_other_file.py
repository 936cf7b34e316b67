"""Whatever reads a recording opens the recording, Sonde's own files and the output; nothing that it names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.export import FORMATS
from sonde.store import build, pack
from sonde.store.meta import Meta
from sonde.store.writer import write_tables
from sonde.views import VIEWS
from tests.fixtures.synthetic import ROOFS, training_run

SECRET = "planted-private-key"
# Runs the command line and prints every path that was opened; the interpreter's own are known by their folders.
WATCHED = """
import json, sys
opened = []
def hook(event, args):
    if event == "open" and isinstance(args[0], (str, bytes)):
        opened.append(args[0] if isinstance(args[0], str) else args[0].decode("utf-8", "replace"))
from sonde.cli.main import main
sys.addaudithook(hook)
code = main(sys.argv[2:])
sys.stdout.flush()
open(sys.argv[1], "w").write(json.dumps([code, opened]))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Someone else's recording, which names files of the reader: his key, and his project."""
    folder = tmp_path_factory.mktemp("home")
    (folder / ".ssh").mkdir()
    (folder / ".ssh" / "id_rsa").write_text(SECRET)
    (folder / "notes.py").write_text(f"# {SECRET}\n")
    run = training_run(steps=6)
    named = [str(folder / ".ssh" / "id_rsa"), str(folder / "notes.py"), "/etc/passwd"]
    frames = run.table("frames")
    files = frames.text("file").tolist()
    files = [named[i % 3] if file else None for i, file in enumerate(files)]
    tables = {t.name: t for t in run.tables()}
    tables["frames"] = build.table("frames", **{**frames.columns, "file": files})
    tables["sources"] = build.empty("sources")
    write_tables(folder / "gift.sonde", tables.values())
    Meta(program="notes.py", command=["python", "notes.py"], directory=str(folder)).write(
        folder / "gift.sonde"
    )
    pack.pack(folder / "gift.sonde", folder / "gift.sonde.zip")
    return folder


COMMANDS = {
    **{f"show {view}": ["show", "REC", view] for view in VIEWS},
    **{f"export {name}": ["export", "REC", "-f", name, "-o", "OUT"] for name in FORMATS},
    "show roofline": ["show", "REC", "roofline", "--roof", "ROOF"],
    "show chain": ["show", "REC", "chain", "--op", "aten::addmm"],
    "report": ["report", "REC", "-o", "OUT"],
    "insights": ["insights", "REC"],
    "explain": ["explain", "gelu", "REC"],
    "query": ["query", "REC", "SELECT * FROM frames"],
    "diff": ["diff", "REC", "REC"],
}


@pytest.mark.parametrize(
    ("name", "form"),
    [*((name, "gift.sonde") for name in COMMANDS)]
    + [(name, "gift.sonde.zip") for name in ("report", "query", "show stacks", "show contents")],
)
def test_only_the_recording_is_opened(home: Path, tmp_path: Path, name: str, form: str) -> None:
    recording, out, seen = home / form, tmp_path / "out", tmp_path / "seen"
    roof = tmp_path / "roof.json"
    roof.write_text(json.dumps({"format": 1, **ROOFS}))
    words = [
        {"REC": str(recording), "OUT": str(out), "ROOF": str(roof)}.get(word, word) for word in COMMANDS[name]
    ]
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(seen), *words],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(home), "TMPDIR": str(tmp_path)},
        capture_output=True,
        check=False,
        timeout=250,
    )
    assert seen.exists(), done.stderr.decode()[-2000:]
    code, opened = json.loads(seen.read_text())
    assert code == 0, done.stderr.decode()[-2000:]
    ours = (
        str(tmp_path),
        str(recording),
        sys.prefix,
        sys.base_prefix,
        *filter(None, sys.path),
        "/proc/",
        "/sys/",
    )
    system = (
        "/usr/share/zoneinfo",
        "/etc/localtime",
        "/dev/null",
        "/etc/mime.types",
        "/usr/lib/",
        "/etc/passwd-",
    )
    strange = [path for path in opened if path.startswith("/") and not path.startswith((*ours, *system))]
    assert strange == []
    written = out.read_bytes() if out.exists() else b""
    assert SECRET.encode() not in done.stdout + written


def test_the_page_of_a_gift_has_no_file_of_its_reader(home: Path, tmp_path: Path) -> None:
    from sonde.render.html import write_report
    from sonde.store.reader import open_recording
    from tests.unit.render.reading import read_page

    write_report(open_recording(home / "gift.sonde"), tmp_path / "r.html")
    page = read_page(tmp_path / "r.html")
    assert page["facts"]["source"]["files"] == []
    assert SECRET not in json.dumps(page["facts"]) + json.dumps(page["strings"])
