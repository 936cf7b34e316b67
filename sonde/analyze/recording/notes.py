"""What must be known before any figure of a recording is read: the first lines of every view.

Enters: what the recording says of itself (details and options of its meta) and its tables. Leaves: lines of text,
in the order of reading; none for most recordings. A folder of traces brings its own (`details["notes"]`, made
where the files are read).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sonde.analyze.ops.table import PRINTED as PRINTED_CALL
from sonde.columns import Table

# Losses that mean that an imported file ends too early, the plainest first.
CUT = ("gzip_truncated", "gzip_corrupt", "truncated_event", "unclosed_document")
PRINTED = (
    "oneDNN and MKL printed every call inside the windows (--primitives), which slows the operators that call them: "
    "record without it to compare operator times"
)


def notes(details: Mapping[str, Any], options: Mapping[str, Any], table: Callable[[str], Table]) -> list[str]:
    """The lines; an empty list where there is nothing to say."""
    told = details.get("notes")
    if isinstance(told, list):
        lines = [str(line) for line in told]
    else:
        why = cut(table("losses"))
        lines = [f"the trace is incomplete: {why}"] if why else []
    # Where only some windows printed, their calls are set apart (`sonde.link.printed_calls`).
    apart = table("ops").text("kind").equals(PRINTED_CALL).any()
    if options.get("primitives") and len(table("primitives")) and len(table("ops")) and not apart:
        lines.append(PRINTED)
    if table("marks").text("kind").equals("window").any():  # a trace has none: what follows is not imported
        from sonde.analyze.recording.undisturbed import window_effect

        effect = window_effect(table("marks"), table("counters"), table("samples"), table("threads"))
        if effect is not None and effect.sentence:
            lines.append(effect.sentence)
    return lines


def cut(losses: Table) -> str:
    """Why the file is known to be incomplete, "" when nothing says so."""
    causes = losses.text("cause").tolist()
    found = [losses.text("detail")[causes.index(c)] or c for c in CUT if c in causes]
    return found[0].split(";")[0] if found else ""
