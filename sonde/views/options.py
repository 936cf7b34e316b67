"""What a user asks of a view: the options of `sonde show`. `VIEWS` says which of them each view takes."""

from __future__ import annotations

from dataclasses import dataclass

from sonde.store.recording import Recording

ROWS = 30  # of a list, where nobody asked for another number


@dataclass(frozen=True)
class ShowOptions:
    """What the user asked. An option that the view does not take is refused before it is asked."""

    by: str | None = None
    sort: str | None = None
    limit: int | None = None  # None: nobody asked, and a view prints as many rows as it likes
    filter: str | None = None
    native: bool = False
    op: str | None = None
    thread: int | None = None
    whole: bool = False  # the whole run, with its start, imports and shutdown
    against: Recording | None = None  # a second recording to hold beside
    roof: str | None = None  # a file of measured roofs, or "here"
    name: str = "REC"  # how to call the recording in the next commands

    def rows(self, default: int = ROWS) -> int:
        """How many rows of a list to print: what was asked for, however short the list is by default."""
        return default if self.limit is None else self.limit
