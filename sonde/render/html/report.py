"""Recording → HTML file, within the size asked for.

The most detailed level that fits is written. Every level keeps all sums
exact; what a level leaves out is named in the page and in the summary.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sonde.errors import UsageError
from sonde.render.html.actors import add_actors, span_ns
from sonde.render.html.answers import add_answers
from sonde.render.html.arrivals import add_arrivals
from sonde.render.html.blocks import add_blocks
from sonde.render.html.curves import add_curves
from sonde.render.html.device import add_device
from sonde.render.html.facts import add_facts
from sonde.render.html.limits import LEVELS, Limits
from sonde.render.html.operators import add_operators
from sonde.render.html.options import ReportOptions, ReportSummary
from sonde.render.html.page import assemble, compress
from sonde.render.html.payload import Payload
from sonde.render.html.primitives import add_primitives
from sonde.render.html.profile import add_profile
from sonde.render.html.source import add_source
from sonde.store.recording import Recording

_FIRST, _SECOND = "sonde-data", "sonde-data-b"


def write_report(recording: Recording, path: Path, options: ReportOptions | None = None) -> ReportSummary:
    """Write the report of one recording to `path`."""
    options = options or ReportOptions()
    return _write([(_FIRST, recording)], path, options, {})


def write_diff_report(
    before: Recording,
    after: Recording,
    path: Path,
    comparison: dict[str, Any],
    options: ReportOptions | None = None,
) -> ReportSummary:
    """Write one page that compares two recordings.

    `comparison` is what `sonde diff --json` says; the page shows its figures and calculates none of them.
    """
    options = options or ReportOptions()
    extra = {"comparison": comparison}
    return _write([(_FIRST, before), (_SECOND, after)], path, options, extra)


def _write(
    recordings: list[tuple[str, Recording]], path: Path, options: ReportOptions, extra: dict[str, Any]
) -> ReportSummary:
    level = 0
    while True:
        blocks: dict[str, bytes] = {}
        facts: list[dict[str, Any]] = []
        title = ""
        for name, recording in recordings:
            payload, kept = build_payload(recording, options, LEVELS[level], extra)
            payload.facts["level"] = level
            title = str(payload.facts["title"])
            blocks[name] = compress(payload.encode())
            facts.append(kept)
        page = assemble(title, blocks)
        if len(page) <= options.max_size_bytes:
            break
        if level == len(LEVELS) - 1:
            raise UsageError(
                f"the smallest report of this recording is {len(page):,} bytes, "
                f"more than the {options.max_size_bytes:,} allowed",
                "allow more with --max-size",
            )
        level = _next_level(level, len(page) / options.max_size_bytes)
    path.write_bytes(page)
    return _summary(path, len(page), level, facts)


def _next_level(level: int, excess: float) -> int:
    """A level halves the rows, so jump as many as the excess asks for."""
    step = 1
    while excess > 2.5 and level + step < len(LEVELS) - 1:
        excess /= 1.8
        step += 1
    return min(level + step, len(LEVELS) - 1)


def build_payload(
    recording: Recording, options: ReportOptions, limits: Limits, extra: dict[str, Any]
) -> tuple[Payload, dict[str, Any]]:
    """Everything of one recording that the page needs, and what was left out."""
    payload = Payload()
    span = span_ns(recording)
    add_facts(payload, recording, options, span)
    add_answers(payload, recording)
    add_actors(payload, recording, limits, span[0])
    profile = add_profile(payload, recording, limits, span[0])
    op_rows = add_operators(payload, recording, limits, span[0])
    device = add_device(payload, recording, limits, span[0], op_rows)
    add_arrivals(payload, recording, span[0])
    add_curves(payload, recording, limits, span[0])
    add_blocks(payload, recording, span[0])
    add_primitives(payload, recording, limits, span[0])
    add_source(payload, recording, options, limits)
    kept = {"profile": profile, "ops": op_rows.facts, "device": device}
    payload.facts |= {"kept": kept, **extra}
    return payload, kept


def _summary(path: Path, size: int, level: int, facts: list[dict[str, Any]]) -> ReportSummary:
    def total(part: str, key: str) -> int:
        return sum(int(f[part][key]) for f in facts)

    pruned: dict[str, str] = {}
    if total("profile", "rows") < total("profile", "samples"):
        slot_ms = max(f["profile"]["slot_ns"] for f in facts) / 1e6
        pruned["samples"] = f"equal samples within {slot_ms:.3g} ms were joined; sums are exact"
    if total("profile", "pruned_nodes"):
        pruned["stacks"] = (
            f"{total('profile', 'pruned_nodes'):,} rare stack nodes "
            f"({total('profile', 'pruned_ns') / 1e6:.3g} ms) are shown as (pruned)"
        )
    if total("ops", "pruned_calls"):
        longest_us = max(f["ops"]["longest_pruned_ns"] for f in facts) / 1e3
        pruned["ops"] = (
            f"{total('ops', 'pruned_calls'):,} calls shorter than {longest_us:.3g} µs are not drawn; "
            "tables are exact"
        )
    if total("device", "pruned"):
        pruned["kernels"] = f"{total('device', 'pruned'):,} short kernels are not drawn; tables are exact"
    return ReportSummary(
        path=path,
        size_bytes=size,
        detail_level=level,
        samples=total("profile", "samples"),
        sample_rows=total("profile", "rows"),
        ops=total("ops", "ops"),
        op_rows=total("ops", "rows"),
        pruned=pruned,
    )
