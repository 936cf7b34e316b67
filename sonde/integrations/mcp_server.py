"""Sonde's answers for assistants that speak the Model Context Protocol: `sonde mcp`, over standard input and output.

Enters: a tool call with a path. Leaves: the short form of the same answer that the command line gives
(`sonde.views.brief`). Nothing is recorded or changed from here: it reads recordings and traces, and a wrong call is
answered with what is wrong and what to do.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sonde.errors import EnvironmentLacks, SondeError, expected
from sonde.views import VIEWS
from sonde.views.brief import Looks, brief

MOST_ROWS = 50  # of a query


def serve() -> None:
    """Answer until the client leaves."""
    server().run()


def server() -> Any:
    """The server with its tools."""
    try:
        from mcp.server.mcpserver import MCPServer
    except ImportError as error:
        raise EnvironmentLacks(
            "sonde mcp needs the package mcp, version 2", "pip install 'sonde-profiler[mcp]'"
        ) from error
    made = MCPServer("sonde", instructions="Profiles of deep-learning programs. Call `guide` first.")
    for tool in (guide, insights, show, explain, query):
        made.tool()(_answered(tool))
    return made


def guide() -> str:
    """How to work with Sonde: record a program, ask, change one thing, prove it."""
    from sonde.skills import guide_text

    return guide_text()


def insights(recording: str) -> dict[str, Any]:
    """What to change in a program, where, and what it saves. `recording`: a .sonde folder or a torch.profiler trace."""
    from sonde.analyze.recording.notes import notes
    from sonde.ingest import open_any
    from sonde.insights.engine import judge
    from sonde.views.brief_insights import arranged

    found = open_any(Path(recording))
    first = notes(found.meta.details, found.meta.options, found.table)
    return brief(arranged(found, judge(found), first, recording), "insights", recording, Looks.of(found))


def show(
    recording: str, view: str = "account", by: str = "", sort: str = "", filter: str = ""
) -> dict[str, Any]:
    """One view of a recording or trace: verdict, account, steps, ops, stacks, threads, waits, memory, gpu, …"""
    from sonde.analyze.recording.notes import notes
    from sonde.errors import UsageError
    from sonde.ingest import open_any
    from sonde.views.options import ShowOptions

    if view not in VIEWS:
        raise UsageError(f"there is no view {view!r}", f"views: {', '.join(VIEWS)}")
    given = {"by": by, "sort": sort, "filter": filter}
    for option, value in given.items():
        if value and option not in VIEWS[view].takes:
            takes = ", ".join(t for t in VIEWS[view].takes if t in given) or "none of them"
            raise UsageError(f"the view {view} does not take {option}", f"it takes {takes}")
    found = open_any(Path(recording))
    asked = ShowOptions(by=by or None, sort=sort or None, filter=filter or None, name=recording)
    first = notes(found.meta.details, found.meta.options, found.table)
    answer = {"notes": first, **VIEWS[view].data(found, asked)}
    return brief(answer, view, recording, Looks.of(found))


def explain(topic: str) -> dict[str, Any]:
    """What an operator, frame, kernel or term of a profile means, and what to do about it."""
    from sonde.errors import UsageError
    from sonde.insights.explain import find

    answer = find(topic)
    if answer.topic is None:
        near = f"did you mean: {'; '.join(answer.near)}" if answer.near else "ask for an operator or a frame"
        raise UsageError(f"nothing is known about {topic!r}", near)
    return {"title": answer.topic.title, "text": answer.topic.text, "see": list(answer.topic.see)}


def query(recording: str, sql: str) -> dict[str, Any]:
    """One SQL statement over the tables of a recording; at most 50 rows. `sonde query REC --schema` lists them."""
    from itertools import islice

    from sonde.ingest import open_any
    from sonde.store.query import Session
    from sonde.views.tabular import made_tables

    found = open_any(Path(recording))
    with Session(found, sql, made_tables()) as session:
        answer = session.ask(sql, timeout_s=60)
        rows = [
            dict(zip(answer.names, map(_plain, row), strict=True)) for row in islice(answer.rows, MOST_ROWS)
        ]
    return brief({"rows": rows}, "query", recording, Looks())


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)


def _answered(tool: Callable[..., Any]) -> Callable[..., Any]:
    """The tool with refusals as an answer: what is wrong, and what to do."""
    from functools import wraps

    @wraps(tool)
    def answered(*arguments: Any, **named: Any) -> Any:
        try:
            return tool(*arguments, **named)
        except Exception as error:
            known = error if isinstance(error, SondeError) else expected(error)
            if known is None:
                raise
            return {"refused": known.message, "do": known.hint or ""}

    return answered
