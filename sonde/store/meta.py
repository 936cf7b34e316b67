"""meta.json: what was run, where, with which options, on which clock."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sonde.errors import InputError
from sonde.store.schema import VERSION

FILE_NAME = "meta.json"
FORMAT = "sonde-recording"


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

    def write(self, folder: Path) -> None:
        """Replace meta.json in one step, so that a crash leaves the old or the new."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, indent=1, ensure_ascii=False)
        partial = folder / (FILE_NAME + ".partial")
        partial.write_text(text + "\n", encoding="utf-8")
        partial.replace(folder / FILE_NAME)

    @staticmethod
    def read(folder: Path) -> Meta:
        """The meta.json of a recording; InputError names what is wrong with it."""
        path = folder / FILE_NAME
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(
                f"{folder} is not a recording: it has no {FILE_NAME}",
                "make one with: sonde run script.py",
            ) from None
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read: {error}", f"try: sonde recover {folder}") from None
        if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
            raise InputError(f"{path} is not the meta.json of a Sonde recording")
        version = data.get("schema_version")
        if version != VERSION:
            raise InputError(
                f"{folder} has schema version {version!r}; this Sonde reads version {VERSION}",
                "use the Sonde version that wrote it"
                + (f" ({data['sonde_version']})" if data.get("sonde_version") else "")
                + ", or record again",
            )
        known = {k: v for k, v in data.items() if k in Meta.__dataclass_fields__}
        clock = known.pop("clock", {})
        try:
            return Meta(**known, clock=Clock(**clock))
        except TypeError as error:
            raise InputError(f"{path} is damaged: {error}") from None
