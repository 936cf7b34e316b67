"""Tables in, text out: every text view of one synthetic recording, compared with what was looked at once.

After a change that is meant: SONDE_UPDATE_GOLDEN=1 pytest tests/golden, then read the difference.
"""

from __future__ import annotations

import difflib
import io
import os
from pathlib import Path

import pytest

from sonde.render.text import show
from sonde.render.text.page import Page
from sonde.render.text.summary import show_summary
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.options import ShowOptions
from tests.fixtures.synthetic import training_run

EXPECTED = Path(__file__).parent / "expected"


@pytest.fixture(scope="module")
def recording() -> Recording:
    return training_run()


def check(name: str, text: str) -> None:
    path = EXPECTED / f"{name}.txt"
    text = text.replace(str(Path(__file__).resolve().parents[2]), "/checkout")
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    if os.environ.get("SONDE_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    wanted = path.read_text(encoding="utf-8")
    difference = "\n".join(difflib.unified_diff(wanted.splitlines(), text.splitlines(), "expected", "seen"))
    assert text == wanted, difference


# What the roofline view shows depends on the roofs measured on a machine; its own tests give it some.
@pytest.mark.parametrize("name", [view for view in VIEWS if view != "roofline"])
def test_view(name: str, recording: Recording) -> None:
    options = ShowOptions(limit=12, name="train.sonde")
    stream = io.StringIO()
    show(name, VIEWS[name].data(recording, options), Page(stream, width=120), options)
    check(name, stream.getvalue())


def test_summary(recording: Recording) -> None:
    stream = io.StringIO()
    show_summary(recording, Page(stream, width=120), "train.sonde")
    assert len(stream.getvalue().splitlines()) <= 25
    check("summary", stream.getvalue())
