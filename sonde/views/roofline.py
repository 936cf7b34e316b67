"""`sonde show REC roofline`: how close operators and primitives come to what the machine can do."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sonde.analyze.roofline.bounds import Roof
from sonde.analyze.roofline.tables import op_roofline, primitive_roofline
from sonde.columns import Table, Text
from sonde.errors import EnvironmentLacks
from sonde.machine import facts as machine_facts
from sonde.machine import roofs as measured
from sonde.store.recording import Recording
from sonde.views.options import ShowOptions


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """`roof`, `ops` and `primitives`: rows with intensity, bound, roof_ms, efficiency, saving_ms."""
    roof, origin = _roof(recording, options.roof)
    return {
        "roof": {**asdict(roof), "origin": origin},
        "ridge": _plain(roof.ridge()),
        "ops": _rows(op_roofline(recording.table("ops"), roof)),
        "primitives": _rows(primitive_roofline(recording.table("primitives"), roof)),
    }


def _roof(recording: Recording, asked: str | None) -> tuple[Roof, str]:
    """The roofs that were asked for, else the recording's own, else this machine's if it ran here.

    Work of another machine is never held against this one unless the user says so: the
    shares would look right and mean nothing.
    """
    if asked is not None and asked != "here":
        found = measured.read(Path(asked))
        return _largest(found), f"from {asked}"
    kept = recording.meta.machine.get("roofs")
    if asked is None and isinstance(kept, dict):
        return _largest(measured.from_json(kept, Path("meta.json"))), "recorded with the program"
    if not len(recording.table("ops")) and not len(recording.table("primitives")):
        return Roof(1, {}), "none: there is nothing to hold against it"
    facts = machine_facts.gather()
    machine = measured.machine_id(facts)
    if asked is None and recording.meta.machine.get("id") != machine:
        where = recording.meta.machine.get("cpu")
        raise EnvironmentLacks(
            f"there is no roof of the machine that this ran on ({where or 'which is not known'})",
            "measure it there with `sonde check --roof` and give the file: --roof FILE; "
            "or compare it with this machine: --roof here",
        )
    here = measured.load(machine)
    if here is None:
        raise EnvironmentLacks("no roof was measured on this machine", "measure it with: sonde check --roof")
    origin = f"measured here {here.when}"
    foreign = recording.meta.machine.get("id") != machine
    return here.roof(facts.effective_cpus or 1), f"{origin}; the work ran elsewhere" if foreign else origin


def _largest(found: measured.MeasuredRoofs) -> Roof:
    return found.roof(max(r.threads for r in (*found.peaks, *found.bandwidths)))


def _rows(table: Table) -> list[dict[str, Any]]:
    columns = {
        name: table.text(name).tolist()
        if isinstance(table.columns[name], Text)
        else table.array(name).tolist()
        for name in table
    }
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return [{k: _plain(v) for k, v in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
