"""Questions about a recording, one module each. Adding a view is one file and one line here.

A view's module has one function, `data(recording, options)`, which returns a frozen dataclass: the answer. Its rows are
dataclasses too, and their fields declare the columns (`sonde.views.columns`). Text, `--json`, `--csv`, the table of
`sonde query` and the facts of the report are all made from that one answer.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:  # the help of `sonde show` lists the views and imports none of them
    from sonde.store.recording import Recording
    from sonde.views.options import ShowOptions


class View(NamedTuple):
    """Where a view is, one line for --help, the options of `sonde show` that it takes, its table in `sonde query`."""

    module: str
    line: str
    takes: tuple[str, ...]
    sql: str | None = None
    rows: str = "rows"  # the field of the answer that has the rows of the table
    # How the report carries it: not at all, its rows as columns of numbers (many plain rows), or whole, as JSON.
    page: Literal["", "columns", "whole"] = ""
    tab: str = ""  # with page="columns": the report has a tab of this title with the rows as a plain table

    def answer(self, recording: Recording, options: ShowOptions) -> Any:
        """What the module's `data` says."""
        return importlib.import_module(self.module).data(recording, options)

    def data(self, recording: Recording, options: ShowOptions) -> dict[str, Any]:
        """The same as plain JSON values."""
        from sonde.views.columns import plain

        found: dict[str, Any] = plain(self.answer(recording, options))
        return found


VIEWS: dict[str, View] = {
    "verdict": View(
        "sonde.views.verdict", "what limits the program, in one word, with evidence", (), page="whole"
    ),
    "account": View(
        "sonde.views.account",
        "where the time of a step goes, by line and kind of work",
        ("sort", "limit"),
        sql="account",
        page="columns",
    ),
    "ranks": View(
        "sonde.views.ranks",
        "ranks of a job: their steps, who is late and why",
        ("sort", "limit"),
        sql="rank_summary",
        page="columns",
    ),
    "collectives": View(
        "sonde.views.collectives",
        "what ranks exchanged: waiting for the last rank, transfer, exposed part",
        ("by", "sort", "limit", "filter"),
        sql="collective_summary",
        page="columns",
        tab="Collectives",
    ),
    "stacks": View(
        "sonde.views.stacks",
        "where on-CPU time goes: hottest functions and the call tree",
        ("sort", "limit", "filter", "native", "thread", "whole"),
        sql="hot_frames",
        rows="hot",
    ),
    "quality": View("sonde.views.quality", "accuracy and completeness of the recording", (), page="whole"),
    "gpu": View(
        "sonde.views.gpu",
        "device activity, idle time and late ranks",
        ("limit",),
        sql="gpu_devices",
        rows="devices",
        page="whole",
    ),
    "ops": View(
        "sonde.views.ops",
        "operators: self and total time, memory, calls",
        ("by", "sort", "limit", "filter", "native", "op", "whole"),
        sql="op_summary",
        page="columns",
    ),
    "chain": View(
        "sonde.views.chain",
        "from the Python line to the kernel: the dispatch chain of --op",
        ("op", "against"),
        sql="chain_levels",
        rows="levels",
    ),
    "steps": View(
        "sonde.views.steps",
        "steps and phases, warm-up listed separately",
        (),
        sql="step_summary",
        rows="steps",
        page="columns",
    ),
    "compile": View(
        "sonde.views.compile",
        "torch.compile: its time, regions, graph breaks, recompiles, kernels",
        ("limit",),
        sql="compile_regions",
        rows="regions",
        page="whole",
    ),
    "memory": View(
        "sonde.views.memory",
        "running total, the peak and what was alive at it, growth over steps",
        ("by", "limit"),
        sql="memory_peaks",
        rows="devices",
        page="whole",
    ),
    "threads": View(
        "sonde.views.threads",
        "what each thread did: running, busy-waiting, waiting",
        ("sort", "limit", "whole"),
        sql="thread_summary",
        page="columns",
    ),
    "waits": View(
        "sonde.views.waits",
        "time off the CPU by reason and place",
        ("sort", "limit", "thread", "whole"),
        sql="wait_summary",
        page="columns",
    ),
    "primitives": View(
        "sonde.views.primitives",
        "oneDNN and MKL calls by kind, implementation and shape",
        ("by", "limit", "filter"),
        sql="primitive_summary",
    ),
    "roofline": View(
        "sonde.views.roofline",
        "operators and primitives against the machine's limits",
        ("limit", "roof"),
        sql="op_roofline",
        rows="ops",
    ),
    "machine": View(
        "sonde.views.machine",
        "where it ran, and the instruction sets of the kernels that ran",
        ("limit",),
        sql="kernels_seen",
        rows="kernels",
        page="whole",
    ),
    "contents": View(
        "sonde.views.contents",
        "what the recording contains; read it before you share one",
        ("limit",),
        sql="stored_tables",
        rows="tables",
    ),
    "losses": View(
        "sonde.views.losses", "what is missing or uncertain", ("sort", "limit"), sql="lost", page="columns"
    ),
}
