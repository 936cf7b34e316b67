"""What other tools wrote, as recordings."""

from __future__ import annotations

from pathlib import Path

from sonde.store.reader import open_recording
from sonde.store.recording import Recording


def open_any(path: Path) -> Recording:
    """Open a recording, or import a file that an importer knows."""
    return open_recording(path)
