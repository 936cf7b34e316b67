"""`%%sonde` in a notebook: record one cell deeply and show what it did below it.

    %load_ext sonde
    %%sonde [NAME.sonde] [--no-report]
    model(x)

Shown are the operators, the flame graph where there are samples, what to change, and the whole report in a frame.
A kernel that was started under `sonde run` records into that recording, with sampled stacks; otherwise the cell makes
a recording of its own, without them.
"""

from __future__ import annotations

import base64
import html
import io
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sonde.integrations.annotate import profile

if TYPE_CHECKING:
    from sonde.insights.engine import Report
    from sonde.store.recording import Recording

FRAME_HEIGHT_PX = 640
MOST_OPERATORS = 15


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext`."""
    shell.register_magic_function(lambda line, cell: _record(shell, line, cell), "cell", "sonde")


def _record(shell: Any, line: str, cell: str) -> None:
    words = line.split()
    names = [word for word in words if not word.startswith("-")]
    path = Path(names[0] if names else f"cell-{time.strftime('%H%M%S')}.sonde")
    with profile(path, name="cell"):
        result = shell.run_cell(cell)
    if result.error_before_exec or result.error_in_exec or not path.exists():
        return
    show(path, report="--no-report" not in words)


def show(path: Path, report: bool = True) -> None:
    """Display a recording in the notebook: operators, flame graph, insights, the report in a frame."""
    from IPython.display import HTML, display

    from sonde.insights.engine import judge
    from sonde.store.reader import open_recording

    recording = open_recording(path)
    judged = judge(recording)
    print(text(recording, judged, path))
    flame = _flame(recording)
    if flame:
        display(
            HTML(f'<img alt="flame graph" style="max-width:100%" src="data:image/svg+xml;base64,{flame}">')
        )
    if report:
        display(HTML(_frame(recording)))


def text(recording: Recording, judged: Report, path: Path) -> str:
    """The operators by self time, then what to change: as the command line prints them."""
    from sonde.render.text import show as show_view
    from sonde.render.text.insights import show_insights
    from sonde.render.text.page import Page
    from sonde.views import VIEWS
    from sonde.views.options import ShowOptions

    stream = io.StringIO()
    page = Page(stream)
    asked = ShowOptions(limit=MOST_OPERATORS, name=str(path))
    show_view("ops", VIEWS["ops"].data(recording, asked), page, asked)
    page.line()
    show_insights(judged, page, str(path))
    page.line(f"More: sonde show {path} ops     sonde report {path} --open     sonde.load({str(path)!r})")
    return stream.getvalue()


def _flame(recording: Recording) -> str:
    """The flame graph as base64 of an SVG; "" without samples."""
    from sonde.export import svg

    if not len(recording.table("samples")):
        return ""
    picture = io.BytesIO()
    svg.write(recording, picture)
    return base64.b64encode(picture.getvalue()).decode()


def _frame(recording: Recording) -> str:
    """The report, whole, in a frame of its own: its styles and scripts touch nothing of the notebook."""
    import tempfile

    from sonde.render.html import ReportOptions, write_report
    from sonde.render.html.judged import judged

    said = judged(recording)
    asked = ReportOptions(
        insights=said.insights,
        findings=said.findings,
        taken_away=said.taken_away,
        closing=said.closing,
        headroom=said.headroom,
    )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        write_report(recording, page, asked)
        text = page.read_text(encoding="utf-8")
    return (
        f'<iframe sandbox="allow-scripts" style="width:100%;height:{FRAME_HEIGHT_PX}px;border:1px solid #ccc" '
        f'srcdoc="{html.escape(text, quote=True)}"></iframe>'
    )
