"""What is done with a recording once it is read: every view, the insights, the page, every export.

Each takes a recording and options drawn at random, and must end in a result or in one of Sonde's errors.
"""

from __future__ import annotations

import io
import random
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

from sonde import json_text
from sonde.compare.difference import difference
from sonde.compare.likeness import likeness
from sonde.errors import SondeError
from sonde.export import FORMATS
from sonde.insights.engine import judge
from sonde.insights.to_json import report_json
from sonde.render.html import ReportOptions, write_report
from sonde.render.html.judged import judged
from sonde.render.text import diff, show
from sonde.render.text.insights import show_insights
from sonde.render.text.page import Page
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.options import ShowOptions
from tests.fixtures.synthetic import training_run

Consumer = Callable[[Recording, random.Random, Path], None]
BY = (None, None, "name", "shape", "module", "line", "thread", "phase", "kind", "op")
SORT = (None, None, None, "self", "total", "calls", "name", "time", "bytes")


def _view(name: str) -> Consumer:
    def run(recording: Recording, rng: random.Random, folder: Path) -> None:
        asked = ShowOptions(
            by=rng.choice(BY),
            sort=rng.choice(SORT),
            limit=rng.choice((30, 30, 1, 0, 10**6)),
            filter=rng.choice((None, None, None, "a", "^$", "[")),
            native=rng.random() < 0.3,
            op=_some_op(recording, rng) if name == "chain" or rng.random() < 0.1 else None,
            thread=rng.choice((None, None, None, 0, 41, -1)),
            against=recording if rng.random() < 0.1 else None,
        )
        data = VIEWS[name].data(recording, asked)
        json_text.dumps(data)
        show(name, data, Page(io.StringIO(), rng.choice((None, 80, 20))), asked)

    return run


def _some_op(recording: Recording, rng: random.Random) -> str:
    names = recording.table("ops").text("name").values
    return rng.choice(names) if names and rng.random() < 0.9 else "aten::none"


def _insights(recording: Recording, rng: random.Random, folder: Path) -> None:
    report = judge(recording)
    if report.failed:
        rule, why = next(iter(report.failed.items()))
        raise AssertionError(f"rule {rule} failed: {why}")
    json_text.dumps(report_json(report))
    show_insights(report, Page(io.StringIO()), "REC", everything=rng.random() < 0.5)


def _page(recording: Recording, rng: random.Random, folder: Path) -> None:
    said = judged(recording)
    asked = ReportOptions(
        no_source=rng.random() < 0.2, insights=said.insights, findings=said.findings,
        closing=said.closing,
            headroom=said.headroom,
    )  # fmt: skip
    write_report(recording, folder / "page.html", asked)


def _export(name: str) -> Consumer:
    def run(recording: Recording, rng: random.Random, folder: Path) -> None:
        FORMATS[name].writer()(recording, io.BytesIO())

    return run


def _diff(recording: Recording, rng: random.Random, folder: Path) -> None:
    """Beside the recording as it was before it was mutated, or beside itself."""
    other = rng.choice((recording, plain_recording()))
    alike = likeness([recording], [other])
    told = difference([recording], [other])
    found = diff.data(told, alike, (["A"], ["B"]), "")
    json_text.dumps(found)
    diff.markdown(found, 30)
    diff.show(found, Page(io.StringIO()), rng.random() < 0.5, 30)


@cache
def plain_recording() -> Recording:
    return training_run(4, 60)


CONSUMERS: dict[str, Consumer] = {
    **{f"show {name}": _view(name) for name in VIEWS},
    "insights": _insights,
    "report": _page,
    "diff": _diff,
    **{f"export {name}": _export(name) for name in FORMATS},
}


def consume(recording: Recording, rng: random.Random, folder: Path, how_many: int = 3) -> str:
    """Some of the consumers: "clean", or "with losses" where one had only a line to say.

    What ends in another error names the consumer.
    """
    outcome = "clean"
    for name in rng.sample(list(CONSUMERS), how_many):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # numpy's, of overflow: figures, not failures
                CONSUMERS[name](recording, rng, folder)
        except SondeError:
            outcome = "with losses"
        except Exception as error:
            error.add_note(f"in: {name}") if hasattr(error, "add_note") else None
            raise
    return outcome
