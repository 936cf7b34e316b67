"""How commands name, open and create recordings."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sonde import rawfolder
from sonde.errors import UsageError

if TYPE_CHECKING:
    from sonde.store.recording import Recording


def add_recording(parser: argparse.ArgumentParser) -> None:
    """The recording argument that every reading command has."""
    parser.add_argument(
        "recording",
        type=Path,
        metavar="REC",
        help="a recording (NAME.sonde, packed or not), or a trace that Sonde can import: "
        "Kineto trace.json[.gz], oneDNN log, perf script text, …",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON with stable keys for programs")


def add_brief(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--brief",
        action="store_true",
        help="print JSON of at most 2,000 tokens: the longest rows, intervals, and what to ask next",
    )


def print_brief(answer: Mapping[str, Any], kind: str, name: str, recording: Recording) -> None:
    """The short form of an answer."""
    from sonde import json_text
    from sonde.views.brief import Looks, brief

    print(json_text.dumps(brief(answer, kind, name, Looks.of(recording))))


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Where the traces of a folder are read, and which of its runs."""
    parser.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="read the traces of a folder on this machine, or on Ray (pip install 'sonde-profiler[ray]'; "
        "RAY_ADDRESS names a cluster); results are the same",
    )
    add_run(parser)


def add_run(parser: argparse.ArgumentParser) -> None:
    """Which of several runs in one folder."""
    parser.add_argument(
        "--run",
        dest="run_number",
        type=int,
        metavar="N",
        help="in a folder with traces of several runs: the run to read; 1 is the first (default: the last)",
    )


def open_input(path: Path, engine: str = "local", run: int | None = None) -> Recording:
    """Open a recording, or import what another tool wrote."""
    from sonde.ingest import open_any

    return open_any(path, engine, run)


def open_noted(path: Path, run: int | None = None) -> Recording:
    """The same for commands that print no view: what must be known first goes to stderr."""
    from sonde.analyze.recording.notes import notes

    recording = open_input(path, run=run)
    for note in notes(recording.meta.details, recording.meta.options, recording.table):
        print(f"Note: {note}", file=sys.stderr)
    return recording


def called(path: Path, run: int | None) -> str:
    """How the next commands name what was opened."""
    return str(path) if run is None else f"{path} --run {run}"


def fresh_path(wanted: Path | None, default: Path, force: bool) -> Path:
    """Where to write. Nothing is overwritten unless forced; a default name gets a number instead."""
    if wanted is None:
        path, number = default, 1
        suffix = "".join(default.suffixes[-2:]) if default.name.endswith(".sonde.zip") else default.suffix
        stem = default.name[: -len(suffix)] if suffix else default.name
        while path.exists():
            number += 1
            path = default.with_name(f"{stem}-{number}{suffix}")
        return path
    if wanted.exists():
        if not force:
            raise UsageError(f"{wanted} already exists", "name another with -o, or add --force")
        _remove(wanted)
    return wanted


def _remove(path: Path) -> None:
    """Make room for an output, but never delete a folder that is not ours."""
    if path.is_file():
        path.unlink()
        return
    if any(path.iterdir()) and not (path / "meta.json").exists() and not (path / rawfolder.FOLDER).is_dir():
        raise UsageError(f"{path} is a folder but not a recording; it was not touched", "choose another -o")
    shutil.rmtree(path)
