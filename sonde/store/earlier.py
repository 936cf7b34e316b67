"""Earlier recordings of the same program: what lies beside a recording and was made the same way.

In: a recording. Out: recordings in the same folder that ran the same command with the same environment, versions,
options and machine, newest first. They tell how much runs of the program differ. What cannot be read is
passed over: nobody asked for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sonde.errors import SondeError
from sonde.store.files import FILE_NAME
from sonde.store.meta import Meta
from sonde.store.reader import open_recording
from sonde.store.recording import Recording

MOST = 8  # each costs a tenth of a second to read
MOST_LOOKED_AT = 400


def earlier_alike(recording: Recording, known: Sequence[Recording], most: int = MOST) -> list[Recording]:
    """At most `most`, without the ones `known` already."""
    if recording.path is None or recording.meta.source != "run" or not recording.path.is_dir():
        return []
    taken = {r.path.resolve() for r in known if r.path}
    found: list[tuple[str, Path]] = []
    try:
        near = sorted(recording.path.resolve().parent.iterdir())[:MOST_LOOKED_AT]
    except OSError:
        return []
    for path in near:
        if path in taken or not (path / FILE_NAME).is_file():
            continue
        try:
            meta = Meta.read(path)
        except SondeError:
            continue
        if _same(meta, recording.meta):
            found.append((meta.started, path))
    opened = []
    for _, path in sorted(found, reverse=True)[:most]:
        try:
            opened.append(open_recording(path))
        except SondeError:
            continue
    return opened


def _same(a: Meta, b: Meta) -> bool:
    """Made by one command in one folder, on one machine, in one way, to its good end."""
    return (
        a.complete
        and a.exit_code == b.exit_code == 0
        and (a.source, a.command, a.directory) == (b.source, b.command, b.directory)
        and (a.environment, a.versions, a.options) == (b.environment, b.versions, b.options)
        and a.machine.get("cpu") == b.machine.get("cpu")
    )
