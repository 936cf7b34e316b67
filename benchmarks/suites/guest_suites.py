"""CPython's own tests of threads, signals, processes and tracing, and numpy's, without and with the agent.

Usage: python -m benchmarks guest_suites [--python PYTHON … | all] [--modules NAME …] [--rounds N] [--rate HZ]

A module is one of CPython's (test_threading) or a package whose tests pytest runs (numpy, numpy.linalg). `all` is this
interpreter and every version from 3.10 to 3.13 found in PATH or in pyenv's folder. What is not there, an interpreter,
a module or a package, is named as missing.

Every module runs as it is and under `sonde run`; outcomes are compared test by test. Where they differ, the
module runs again both ways, `--rounds` times in all: a test that is not steady without the agent is named
as such and proves nothing; one that is steady without and ever another with is a difference. Exits 1
when there is one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.lib.environment import foreground, interpreters, write
from benchmarks.lib.patience import until_its_end

RUNNER = Path(__file__).parents[1] / "workloads" / "outcomes.py"
ROOT = Path(__file__).parents[2]
TIMEOUT_S = 1800.0  # of its own time
MODULES = (
    "test_thread",
    "test_threading",
    "test_signal",
    "test_subprocess",
    "test_asyncio",
    "test_multiprocessing_fork",
    "test_fork1",
    "test_gc",
    "test_generators",
    "test_sys_settrace",
    "test_faulthandler",
    "numpy",
)
Outcomes = dict[str, str]


class NotThereError(Exception):
    """The interpreter does not have the module."""


def require(python: str, module: str) -> None:
    """Raise when `python` has no such tests."""
    names = [f"test.{module}"] if module.startswith("test_") else [module, "pytest"]
    if module.startswith("test_multiprocessing_"):
        names = ["test._test_multiprocessing"]  # see workloads/outcomes.py
    asked = "import importlib.util as u, sys; print(*[m for m in sys.argv[1:] if not u.find_spec(m)])"
    done = subprocess.run([python, "-c", asked, *names], capture_output=True, text=True, check=True)
    if done.stdout.strip():
        raise NotThereError(f"no {' and no '.join(done.stdout.split())}")


@dataclass
class Compared:
    """A module's outcomes in every round, and what follows from them."""

    python: str
    module: str
    rounds: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)  # without the agent, first round
    unsteady: dict[str, list[str]] = field(default_factory=dict)  # differ without the agent
    different: dict[str, list[str]] = field(default_factory=dict)  # steady without, other with
    said: str = ""  # what the tests that differ said


def command_of(python: str, module: str, report: Path) -> list[str]:
    if module.startswith("test_"):
        return [python, str(RUNNER), module, str(report)]
    # No xdist: one process, so that a crash is its own. Slow tests are left out, as numpy.test() does.
    # A file that cannot be collected (f2py without a Fortran compiler) is an outcome like any other.
    options = ["-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist"]
    options += ["--continue-on-collection-errors", f"--junitxml={report}"]
    return [python, "-m", "pytest", "--pyargs", module, *options]


def outcomes_of(module: str, report: Path) -> Outcomes:
    """Outcome by test; the worst, where a test has several."""
    outcomes: Outcomes = {}
    if module.startswith("test_"):
        rows = [line.partition("\t")[::2] for line in report.read_text().splitlines()]
    else:
        cases = ET.parse(report).iter("testcase")
        rows = [(f"{c.get('classname')}::{c.get('name')}", c[0].tag if len(c) else "passed") for c in cases]
        rows.append(("the end", "reached"))  # the file is written there
    for test, outcome in rows:
        if outcomes.get(test, "passed") == "passed":
            outcomes[test] = outcome
    return outcomes


def run_module(python: str, module: str, rate_hz: int) -> tuple[Outcomes, str]:
    """Outcome by test, and what failures said. A rate of 0 is without the agent."""
    with tempfile.TemporaryDirectory(prefix="sonde-guest-") as place:
        report = Path(place) / "outcomes"
        command = command_of(python, module, report)
        environment = {**os.environ}
        if rate_hz:
            options = ["--quiet", "--window", "none", "--rate", str(rate_hz), "-o", f"{place}/guest.sonde"]
            command = [sys.executable, "-m", "sonde", "run", *options, "--", *command]
            environment["PYTHONPATH"] = str(ROOT)
        work = Path(place) / "work"
        work.mkdir()
        with open(Path(place) / "output.txt", "w+") as output:
            process = subprocess.Popen(
                command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            hung = until_its_end(process, TIMEOUT_S)[2]
            output.seek(0)
            tail = output.read()[-2000:]
        if not report.exists():
            raise SystemExit(f"{' '.join(command)} ran no test:\n{tail}")
        outcomes = outcomes_of(module, report)
        outcomes.setdefault("the end", f"not reached ({hung or f'exit {process.returncode}'})")
        failed = Path(f"{report}.txt")
        return outcomes, failed.read_text() if failed.exists() else tail


def compare(python: str, module: str, rounds: int, rate_hz: int) -> Compared:
    plain, guest, said = [], [], []
    result = Compared(python, module)
    for _ in range(rounds):
        plain.append(run_module(python, module, 0)[0])
        outcomes, text = run_module(python, module, rate_hz)
        guest.append(outcomes)
        said.append(text)
        result.rounds += 1
        if plain[-1] == guest[-1]:
            break  # nothing to look into
    result.outcomes = dict(Counter(plain[0].values()))
    for test in sorted({t for one in (*plain, *guest) for t in one}):
        without = {one.get(test, "did not run") for one in plain}
        seen = [one.get(test, "did not run") for one in guest]
        if len(without) > 1:
            result.unsteady[test] = [*sorted(without), "with the agent:", *seen]
        elif set(seen) != without:
            result.different[test] = [*without, "with the agent:", *seen]
    if result.different:
        result.said = "\n".join(said)[-20000:]
    return result


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python",
        nargs="+",
        default=[sys.executable],
        help="interpreters whose tests run; all: 3.10 to 3.13",
    )
    parser.add_argument("--modules", nargs="+", default=list(MODULES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=1000)
    options = parser.parse_args()
    foreground()
    results = []
    pythons, absent = interpreters(options.python)
    for name in absent:
        print(f"{name}: missing", flush=True)
    for python in map(os.path.abspath, pythons):  # tests run in a folder of their own
        for module in options.modules:
            try:
                require(python, module)
            except NotThereError as error:
                absent.append(f"{python} {module}: {error}")
                print(f"{python} {module}: missing, {error}", flush=True)
                continue
            result = compare(python, module, options.rounds, options.rate)
            results.append(result)
            verdict = f"{len(result.different)} differ" if result.different else "the same"
            print(f"{python} {module}: {verdict}; {result.outcomes}", flush=True)
            for test, seen in result.different.items():
                print(f"  DIFFERENT {test}: {' '.join(seen)}", flush=True)
            for test, seen in result.unsteady.items():
                print(f"  unsteady {test}: {' '.join(seen)}", flush=True)
    print(
        write(
            "guest_suites", {"rate_hz": options.rate, "missing": absent, "rows": [asdict(r) for r in results]}
        )
    )
    return 1 if any(r.different for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
