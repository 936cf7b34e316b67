"""meta.json: what was run, where, with which options, on which clock."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sonde import json_text
from sonde.errors import InputError
from sonde.store import checksums, typed
from sonde.store.files import FILE_NAME, PRIVATE_FILE, Folder, meta_text
from sonde.store.schema import VERSION

FORMAT = "sonde-recording"
_COUNTS = ("cpus", "usable_cpus", "memory_bytes")  # facts of the machine that are counted with


@dataclass(frozen=True)
class Clock:
    """How the recording's clock (CLOCK_MONOTONIC) relates to the wall clock."""

    epoch_offset_start_ns: int = 0
    epoch_offset_end_ns: int = 0
    uncertainty_ns: int = 0
    # Per source (kineto, onednn, …): how far its times may be off after conversion.
    sources: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Meta:
    """Everything about a recording that is not a table."""

    schema_version: int = VERSION
    sonde_version: str = ""
    source: str = "run"  # run, or the importer's name
    program: str = ""  # short name for people
    command: list[str] = field(default_factory=list)
    directory: str = ""
    started: str = ""  # ISO 8601 with offset
    duration_s: float = 0.0
    exit_code: int | None = None
    complete: bool = True  # False while running and after a crash until recovered
    options: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    # What sources tell beyond the tables: device properties, distributed info, …
    details: dict[str, Any] = field(default_factory=dict)
    # Checksum of each table file, by its path in the recording; empty in recordings of older versions.
    files: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in _COUNTS:
            if self.machine.get(name) is not None and typed.fits(float, self.machine[name]) is None:
                raise ValueError(f"machine.{name} is not a number")

    def write(self, folder: Path) -> None:
        """Replace meta.json in one step, so that a crash leaves the old or the new.

        What is complete also gets the checksums of the table files, which must be there by now.
        """
        files = checksums.of(folder) if self.complete else {}
        text = json.dumps({"format": FORMAT, **asdict(self), "files": files}, indent=1, ensure_ascii=False)
        partial = folder / (FILE_NAME + ".partial")
        partial.unlink(missing_ok=True)
        # Made anew, so that nothing is written through a link that someone left in the folder.
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        with os.fdopen(descriptor, "wb") as file:
            # A lone surrogate (a file name that is no UTF-8) becomes \udcff, which JSON reads back as it was.
            file.write((text + "\n").encode("utf-8", "backslashreplace"))
        partial.replace(folder / FILE_NAME)

    @staticmethod
    def read(folder: Path, text: str | None = None) -> Meta:
        """The meta.json of a recording, or `text` as its content; InputError names what is wrong with it."""
        path = folder / FILE_NAME
        if text is None and not os.path.lexists(path):
            raise InputError(
                f"{folder} is not a recording: it has no {FILE_NAME}",
                "make one with: sonde run script.py",
            )
        try:
            data = json_text.loads(meta_text(Folder(folder)) if text is None else text)
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read: {error}", f"try: sonde recover {folder}") from None
        if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
            raise InputError(f"{path} is not the meta.json of a Sonde recording")
        version = data.get("schema_version")
        if version != VERSION:
            raise InputError(
                f"{folder} has schema version {version!r}; this Sonde reads version {VERSION}",
                "use the Sonde version that wrote it"
                + (f" ({data['sonde_version']})" if isinstance(data.get("sonde_version"), str) else "")
                + ", or record again",
            )
        try:
            return typed.build(Meta, data)
        except ValueError as error:
            raise InputError(f"{path} is damaged: {error}") from None
