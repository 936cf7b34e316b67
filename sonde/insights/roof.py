"""The roofs that a recording's work is held against: those of the machine that it ran on, for its number of threads.

Enters: a `Subject`, and what the user asked for. Leaves: a `Roof` and where it comes from. Work of another machine is
never held against this one unless the user says so: the shares would look right and mean nothing.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sonde.analyze.roofline.bounds import Roof
from sonde.errors import EnvironmentLacks, SondeError
from sonde.insights.model import NotEnough
from sonde.insights.subject import Subject
from sonde.machine import facts as machine_facts
from sonde.machine import roofs as measured


def roof_of(subject: Subject, asked: str | None = None) -> tuple[Roof, str]:
    """The roofs asked for (a file, or "here"), else the recording's own, else this machine's if it ran here."""
    if asked is not None and asked != "here":
        return _for_its_threads(measured.read(Path(asked)), subject), f"from {asked}"
    kept = subject.meta.machine.get("roofs")
    if asked is None and isinstance(kept, dict):
        return _for_its_threads(
            measured.from_json(kept, Path("meta.json")), subject
        ), "recorded with the program"
    recorded = subject.meta.machine.get("id")
    machine = (
        _this_machine() if recorded or asked == "here" else None
    )  # who does not say is held against none
    foreign = recorded != machine or machine is None
    if asked is None and foreign:
        where = subject.meta.machine.get("cpu")
        raise EnvironmentLacks(
            f"no roofline was measured for the machine that this ran on ({where or 'which is not known'})",
            "measure it there with `sonde check --roof` and give the file: --roof FILE; "
            "or compare it with this machine: --roof here",
        )
    here = measured.load(machine) if machine else None
    if here is None:
        raise EnvironmentLacks(
            "no roofline was measured on this machine", "measure it with: sonde check --roof"
        )
    origin = f"measured here {here.when}"
    return _for_its_threads(here, subject), f"{origin}; the work ran elsewhere" if foreign else origin


@cache
def _this_machine() -> str:
    return measured.machine_id(machine_facts.gather())


def _for_its_threads(found: measured.MeasuredRoofs, subject: Subject) -> Roof:
    """Where the program did not say how many threads it computes with: the most that were measured."""
    threads = subject.settings.get("threads")
    return found.roof(threads if isinstance(threads, int) else 1 << 16)


def measured_roof(subject: Subject) -> Roof:
    """The roofs for a rule: `NotEnough` where none were measured, or what was kept cannot be read."""
    try:
        return roof_of(subject)[0]
    except SondeError as error:
        raise NotEnough(f"{error.message}: sonde check --roof") from None
