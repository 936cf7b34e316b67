"""A recording as the rest of Sonde sees it: meta and tables, loaded when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from sonde.columns import Table
from sonde.store import build
from sonde.store.files import Files
from sonde.store.meta import Meta
from sonde.store.schema import TABLES


class Recording:
    """Meta and tables. A table that was not recorded is an empty table."""

    def __init__(
        self,
        meta: Meta,
        tables: Mapping[str, Table] | None = None,
        path: Path | None = None,
        load: Callable[[str], Table] | None = None,
        files: Files | None = None,
    ) -> None:
        self.meta = meta
        self.path = path  # the folder or imported file; None for one made in memory
        self.files = files  # those on disk; None for what was imported or made in memory
        self._tables = dict(tables or {})
        self._load = load

    def table(self, name: str) -> Table:
        """Table `name` of the schema with every column."""
        if name not in TABLES:
            raise KeyError(f"no table {name}; there are {', '.join(TABLES)}")
        found = self._tables.get(name)
        if found is None:
            found = self._load(name) if self._load else build.empty(name)
            self._tables[name] = found
        return found

    def holding(self, tables: Mapping[str, Table]) -> Recording:
        """The same recording with these tables in memory, where they were written a moment ago."""
        return Recording(self.meta, tables, self.path, self._load, self.files)

    def tables(self) -> Iterable[Table]:
        """All tables, in the order of the schema."""
        return (self.table(name) for name in TABLES)
