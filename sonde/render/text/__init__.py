"""Text views by name. Adding one is one file and one line here."""

from __future__ import annotations

from typing import NamedTuple


class View(NamedTuple):
    """Where a view is, one line for --help, and the options of `sonde show` that it takes."""

    module: str
    line: str
    takes: tuple[str, ...]


VIEWS: dict[str, View] = {
    "stacks": View(
        "sonde.render.text.stacks",
        "where on-CPU time goes: hottest functions and the call tree",
        ("limit", "filter", "native", "thread"),
    ),
    "quality": View("sonde.render.text.quality", "accuracy and completeness of the recording", ()),
    "gpu": View("sonde.render.text.gpu", "device activity, idle time and late ranks", ("limit",)),
    "ops": View(
        "sonde.render.text.ops",
        "operators: self and total time, memory, calls",
        ("by", "sort", "limit", "filter", "native", "op"),
    ),
    "chain": View(
        "sonde.render.text.chain",
        "from the Python line to the kernel: the dispatch chain of --op",
        ("op", "against"),
    ),
    "steps": View("sonde.render.text.steps", "steps and phases, with warm-up set apart", ()),
    "compile": View(
        "sonde.render.text.compile",
        "torch.compile: its time, regions, graph breaks, recompiles, kernels",
        ("limit",),
    ),
    "memory": View(
        "sonde.render.text.memory",
        "running total, the peak and what was alive at it, growth over steps",
        ("by", "limit"),
    ),
    "threads": View(
        "sonde.render.text.threads", "what each thread did: running, busy-waiting, waiting", ("limit",)
    ),
    "waits": View("sonde.render.text.waits", "time off the CPU by reason and place", ("limit",)),
    "primitives": View(
        "sonde.render.text.primitives",
        "oneDNN and MKL calls by kind, implementation and shape",
        ("by", "limit", "filter"),
    ),
    "roofline": View(
        "sonde.render.text.roofline",
        "operators and primitives against the machine's limits",
        ("limit", "roof"),
    ),
    "machine": View(
        "sonde.render.text.machine",
        "where it ran, and the instruction sets of the kernels that ran",
        ("limit",),
    ),
    "contents": View(
        "sonde.render.text.contents",
        "what the recording contains; read it before you share one",
        ("limit",),
    ),
    "losses": View("sonde.render.text.losses", "what is missing or uncertain", ("limit",)),
}
