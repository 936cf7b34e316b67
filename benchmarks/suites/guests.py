"""Programs of many kinds, each without and with Sonde: same output, same errors, same exit code.

Usage: python -m benchmarks guests [--python PYTHON … | all] [--rounds N] [--rates HZ …] [--only NAME … | --built-in]

The guests are in tests/guests/roster.py. PYTHON is the interpreter of the environment that has their packages (`make
proofs` makes .make/guests-environment). `--built-in` are the guests that need none; `all` is every version of Python. A
guest whose package is not there is named as missing. Each round runs a guest once as it is and once at every rate. A
guest that differs from itself without Sonde proves nothing, and fails. Exits 1 when a guest differed, crashed, hung or
left a recording that does not open. Hung is what takes 900 s of time in which none of its threads waited for a CPU.
tests/guests/test_guests.py runs the short form.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path

from benchmarks.lib.environment import foreground, interpreters, write
from benchmarks.lib.patience import until_its_end
from sonde.errors import SondeError
from sonde.store.reader import open_recording
from tests.guests.roster import GUESTS, Guest

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 900.0  # of its own time; gevent takes 200 s
RATES_HZ = (100, 1000)
DIFFERENCES_KEPT = 5


@dataclass(frozen=True)
class Ran:
    """One run of a guest, with what two runs are compared by."""

    code: int
    output: str
    errors: str
    hung: str = ""  # why it counts as such
    took_s: float = 0.0
    samples: int = 0
    unreadable: str = ""  # why its recording does not open
    said: str = ""  # Sonde's own lines on stderr, which are not compared

    def difference(self, plain: Ran) -> str:
        """What is not as in `plain`, in a line; empty when all is."""
        if self.hung:
            return f"hung: {self.hung}"
        if self.code != plain.code:
            said = self.errors.strip().splitlines()
            return f"exit {self.code} instead of {plain.code}: {' | '.join(said[-3:])[-300:]}"
        for name in ("output", "errors"):
            theirs, ours = getattr(plain, name).splitlines(), getattr(self, name).splitlines()
            if ours != theirs:
                pairs = list(zip_longest(ours, theirs))
                at = next(i for i, (mine, other) in enumerate(pairs) if mine != other)
                return f"{name}, line {at + 1}: {pairs[at][0]!r} instead of {pairs[at][1]!r}"
        return f"the recording does not open: {self.unreadable}" if self.unreadable else ""


@dataclass
class Row:
    """A guest at one rate. Rate 0 is without Sonde, where `identical` counts runs like the first."""

    guest: str
    python: str
    rate_hz: int
    runs: int = 0
    identical: int = 0
    crashed: int = 0  # died of a signal that it does not die of by itself
    fewest_samples: int = -1
    slowest_s: float = 0.0
    said: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def add(self, ran: Ran, plain: Ran) -> None:
        difference = ran.difference(plain)
        self.runs += 1
        self.identical += not difference
        self.crashed += ran.code < 0 and ran.code != plain.code
        self.fewest_samples = ran.samples if self.runs == 1 else min(self.fewest_samples, ran.samples)
        self.slowest_s = max(self.slowest_s, round(ran.took_s, 1))
        if ran.said and ran.said not in self.said:
            self.said.append(ran.said)
        if difference and len(self.differences) < DIFFERENCES_KEPT:
            self.differences.append(difference)


def missing(guest: Guest, python: str) -> list[str]:
    """The modules that the guest needs and `python` does not have, or the compiler."""
    if guest.path.suffix == ".c":
        return [] if shutil.which("gcc") else ["gcc"]
    asked = "import importlib.util as u, sys; print(*[m for m in sys.argv[1:] if not u.find_spec(m)])"
    done = subprocess.run([python, "-c", asked, *guest.needs], capture_output=True, text=True, check=True)
    return done.stdout.split()


def command_of(guest: Guest, python: str, place: Path) -> list[str]:
    if guest.path.suffix == ".py":
        return [python, str(guest.path), *guest.arguments]
    binary = place / guest.path.stem
    if not binary.exists():
        flags = ["-O1", "-g", "-pthread", "-Wall", "-Wextra", "-D_GNU_SOURCE"]
        subprocess.run(["gcc", *flags, "-o", binary, guest.path], check=True)
    return [str(binary), *guest.arguments]


def run_once(command: Sequence[str], rate_hz: int, place: Path) -> Ran:
    """Run it to the end of its output, which may be a daemon's. A rate of 0 is without Sonde."""
    recording = place / "guest.sonde"
    shutil.rmtree(recording, ignore_errors=True)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    if rate_hz:
        options = ["--quiet", "--rate", str(rate_hz), "-o", str(recording)]
        command = [sys.executable, "-m", "sonde", "run", *options, "--", *command]
        environment["PYTHONPATH"] = str(ROOT)
    process = subprocess.Popen(
        command, cwd=place, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    began_s = time.monotonic()
    output, errors, hung = until_its_end(process, TIMEOUT_S)
    took_s = time.monotonic() - began_s
    samples, unreadable = _samples(recording) if rate_hz and not hung else (0, "")
    lines = _comparable(errors).splitlines(keepends=True)
    theirs = "".join(line for line in lines if not line.startswith("sonde: "))
    said = "".join(line for line in lines if line.startswith("sonde: ")).strip()
    return Ran(process.returncode, _comparable(output), theirs, hung, took_s, samples, unreadable, said)


def _comparable(text: bytes) -> str:
    """Addresses and thread identities differ from run to run."""
    return re.sub(r"0x[0-9a-f]+", "0x…", text.decode(errors="replace"))


def _samples(recording: Path) -> tuple[int, str]:
    try:
        return len(open_recording(recording).table("samples")), ""
    except SondeError as error:
        return 0, str(error)


def entertain(guest: Guest, python: str, rounds: int, rates_hz: Sequence[int]) -> list[Row]:
    """A row per rate, the one without Sonde first."""
    rows = [Row(guest.name, python, rate) for rate in (0, *rates_hz)]
    with tempfile.TemporaryDirectory(prefix="sonde-guest-", ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        command = command_of(guest, python, place)
        plain = None
        for _ in range(rounds):
            for row in rows:
                ran = run_once(command, row.rate_hz, place)
                plain = plain or ran
                row.add(ran, plain)
    return rows


def show(row: Row) -> None:
    counts = f"{row.runs:>6}{row.identical:>11}{row.crashed:>9}{row.fewest_samples:>9}{row.slowest_s:>11.1f}"
    print(f"{row.guest:<28}{row.rate_hz:>6}{counts}", flush=True)
    for line in (*row.said, *row.differences):
        print(f"    {line}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python",
        nargs="+",
        default=[sys.executable],
        help="interpreter with the guests' packages; all: 3.10 to 3.13",
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rates", type=int, nargs="+", default=RATES_HZ, metavar="HZ")
    parser.add_argument("--only", nargs="+", choices=[g.name for g in GUESTS], metavar="NAME")
    parser.add_argument("--built-in", action="store_true", help="those that need no package")
    options = parser.parse_args()
    foreground()
    pythons, absent = interpreters(options.python)
    chosen = [guest for guest in GUESTS if not options.only or guest.name in options.only]
    if options.built_in:
        chosen = [guest for guest in chosen if not guest.needs]
    rows: list[Row] = []
    for python in map(os.path.abspath, pythons):  # guests run in a folder of their own
        print(
            f"{python:<28}{'rate':>6}{'runs':>6}{'identical':>11}{'crashed':>9}{'samples':>9}{'slowest s':>11}",
            flush=True,
        )
        for guest in chosen:
            if lacks := missing(guest, python):
                absent.append(f"{guest.name} (no {', '.join(lacks)} for {python})")
                continue
            for row in entertain(guest, python, options.rounds, options.rates):
                rows.append(row)
                show(row)
    failed = [row for row in rows if row.identical < row.runs]
    print(f"{len(rows) - len(failed)} of {len(rows)} rows identical, missing: {', '.join(absent) or 'none'}")
    print(write("guests", {"rounds": options.rounds, "missing": absent, "rows": [asdict(r) for r in rows]}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
