"""`sonde.load(path)`: the tables of a recording or trace as pandas, polars or Arrow, for notebooks and scripts.

    rec = sonde.load("train.sonde")
    rec.tables                       names, those of the recording and those of Sonde's own views
    rec.pandas("op_summary")         or .polars(…), .arrow(…), .numpy(…)
    rec.pandas(sql="SELECT name, sum(self_ms) FROM op_summary GROUP BY name")
    rec.insights()                   what to change, as a list of dictionaries
pandas, polars and pyarrow are the user's; each is imported only when asked for.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sonde.errors import EnvironmentLacks, UsageError

if TYPE_CHECKING:
    from sonde.store.recording import Recording


class Loaded:
    """A recording that was opened for reading."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    @property
    def tables(self) -> list[str]:
        """Every name that `pandas`, `polars`, `arrow` and SQL know."""
        from sonde.store.schema import TABLES
        from sonde.views.tabular import made_tables

        return [*TABLES, *made_tables()]

    def numpy(self, table: str | None = None, *, sql: str | None = None) -> dict[str, Any]:
        """A table, or the answer to one SQL statement, as arrays by column; what is not known is None or NaN."""
        import numpy as np

        from sonde.store.query import Session
        from sonde.views.tabular import made_tables

        if (table is None) == (sql is None):
            raise UsageError("give the name of a table, or sql=", f"tables: {', '.join(self.tables)}")
        if table is not None and table not in self.tables:
            raise UsageError(f"there is no table {table!r}", f"tables: {', '.join(self.tables)}")
        asked = sql if sql is not None else f"SELECT * FROM {table}"
        with Session(self.recording, asked, made_tables()) as session:
            answer = session.ask(asked)
            rows = list(answer.rows)
        columns = zip(*rows, strict=True) if rows else ((),) * len(answer.names)
        found = {}
        for name, values in zip(answer.names, columns, strict=True):
            plain = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
            found[name] = np.array(values) if plain else np.array(values, dtype=object)
        return found

    def pandas(self, table: str | None = None, *, sql: str | None = None) -> Any:
        """The same as a pandas.DataFrame."""
        return _needed("pandas").DataFrame(self.numpy(table, sql=sql))

    def polars(self, table: str | None = None, *, sql: str | None = None) -> Any:
        """The same as a polars.DataFrame."""
        columns = {name: values.tolist() for name, values in self.numpy(table, sql=sql).items()}
        return _needed("polars").DataFrame(columns, strict=False)

    def arrow(self, table: str | None = None, *, sql: str | None = None) -> Any:
        """The same as a pyarrow.Table."""
        columns = {name: values.tolist() for name, values in self.numpy(table, sql=sql).items()}
        return _needed("pyarrow").table(columns)

    def insights(self) -> list[dict[str, Any]]:
        """What to change, what it saves, and why: as `sonde insights --json` has them."""
        from sonde.insights.engine import judge
        from sonde.insights.to_json import report_json

        found: list[dict[str, Any]] = report_json(judge(self.recording))["insights"]
        return found

    def __repr__(self) -> str:
        meta = self.recording.meta
        return f"<Sonde recording of {meta.program}, {meta.duration_s:.1f} s: {len(self.tables)} tables>"


def load(path: str | os.PathLike[str]) -> Loaded:
    """Open a recording (NAME.sonde, packed or not) or a trace that Sonde can import."""
    from sonde.ingest import open_any

    return Loaded(open_any(Path(path)))


def _needed(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise EnvironmentLacks(f"{package} is not installed here", f"pip install {package}") from error
