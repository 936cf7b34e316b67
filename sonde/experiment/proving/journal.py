"""Everything an experiment did, one JSON line per launch, so that it can be resumed and audited.

A line is written as soon as its launch has ended; an interrupted experiment loses
at most the launch that was running.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from sonde import json_text
from sonde.errors import InputError
from sonde.experiment.design.arm import Measurement
from sonde.store import typed


@dataclass(frozen=True)
class Entry:
    """One launch: which comparison, pair and arm it belonged to, and its measurement."""

    comparison: str
    pair: int
    arm: str
    measurement: Measurement
    key: str = ""  # of the arm: a journal serves only the arms it was written for


class Journal:
    """Append-only. Without a path it lives in memory."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.entries: list[Entry] = list(_read(path)) if path and path.exists() else []

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(asdict(entry), ensure_ascii=False) + "\n")

    def of(self, comparison: str, pair: int, keys: dict[str, str]) -> dict[str, Measurement]:
        """What is known of one pair: arm → measurement. `keys` are those of the arms compared now."""
        found: dict[str, Measurement] = {}
        for entry in self.entries:
            if entry.comparison == comparison and entry.pair == pair:
                if entry.key and entry.key != keys.get(entry.arm):
                    raise InputError(
                        f"{self.path} holds launches of another command or setting under {comparison!r}",
                        "name a new file with --journal",
                    )
                found[entry.arm] = entry.measurement
        return found


def _read(path: Path) -> Iterator[Entry]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        try:
            yield typed.build(Entry, json_text.loads(line))
        except ValueError as error:
            if number == len(lines):  # cut off while it was written: that launch is done again
                return
            raise InputError(f"{path}:{number} is not a line of an experiment: {error}") from None
