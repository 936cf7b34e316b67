"""What a text view is: data for programs (`--json`), and the same data for people.

A view is one file with two functions, and one line in `sonde.render.text.VIEWS`:
    data(recording, options) -> a dict of plain JSON values with documented keys
    show(data, page, options) -> prints it
`show` gets only what `data` returned, so both always say the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from sonde.store.recording import Recording


@dataclass(frozen=True)
class ShowOptions:
    """What the user asked of a view. A view ignores what does not concern it."""

    by: str | None = None
    sort: str | None = None
    limit: int = 30
    filter: str | None = None
    native: bool = False
    op: str | None = None
    thread: int | None = None
    against: Recording | None = None  # a second recording to hold beside
    roof: str | None = None  # a file of measured roofs, or "here"
    name: str = "REC"  # how to call the recording in the next commands
