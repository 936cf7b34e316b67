"""Meta and insights → the small facts of the page, as JSON.

Everything here came from outside, so it is walked once: strings are made
visible, numbers that JSON does not know become null, and what looks like a
secret is hidden before it reaches a file people share.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sonde.analyze.recording.notes import notes
from sonde.redact import HIDDEN, hide_command, hide_environment, is_secret_name
from sonde.render.html.options import ReportOptions
from sonde.render.html.payload import Payload
from sonde.render.html.strings import visible
from sonde.store.recording import Recording

MAX_ITEMS = 500


def plain(value: Any, depth: int = 0, most: int = MAX_ITEMS) -> Any:
    """`value` as JSON that is safe to put in a page; of a list or an object at most the first `most` items."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping) and depth < 8:
        return {
            visible(str(k)): HIDDEN
            if isinstance(v, str) and is_secret_name(str(k))
            else plain(v, depth + 1, most)
            for k, v in list(value.items())[:most]
        }
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes)) and depth < 8:
        return [plain(v, depth + 1, most) for v in list(value)[:most]]
    return visible(str(value))


def _card(value: Any) -> Any:
    """A card as `plain` makes it, but for its fix: code to paste keeps its lines."""
    card = plain(value)
    fix = value.get("fix") if isinstance(value, Mapping) else getattr(value, "fix", None)
    if isinstance(card, dict) and isinstance(fix, str):
        card["fix"] = "\n".join(visible(line) for line in fix.split("\n"))
    return card


def add_facts(payload: Payload, recording: Recording, options: ReportOptions, span: tuple[int, int]) -> None:
    """Put everything that is not a table into the payload."""
    meta = recording.meta
    name = meta.program or (recording.path.name if recording.path else "recording")
    payload.facts |= {
        "title": visible(options.title or Path(name).name),
        "duration_ns": span[1] - span[0],
        "origin_ns": span[0],
        "notes": plain(notes(meta.details, meta.options, recording.table)),
        "meta": {
            **{
                key: plain(getattr(meta, key))
                for key in ("sonde_version", "source", "program", "directory", "started")
            },
            "command": plain(hide_command(meta.command)),
            "duration_s": plain(meta.duration_s),
            "exit_code": meta.exit_code,
            "complete": meta.complete,
            "options": plain(meta.options),
            "environment": plain(hide_environment(meta.environment)),
            "machine": plain({k: v for k, v in meta.machine.items() if k not in ("findings", "roofs")}),
            "versions": plain(meta.versions),
            "clock": plain(meta.clock),
            "details": plain(meta.details),
        },
        "insights": [_card(i) for i in options.insights],
        "findings": [_card(f) for f in options.findings],
        "taken_away": visible(options.taken_away) if options.taken_away else None,
        "headroom": visible(options.headroom) if options.headroom else None,
        "closing": visible(options.closing) if options.closing else None,
    }
