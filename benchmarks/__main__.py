"""`python -m benchmarks NAME …` runs the suite benchmarks/suites/NAME.py; without a name, the suites are listed.

`--all` and `--quick` run what lib/plan.py says, each suite in a process of its own, to the end even where one fails.
In: the name of a suite and its options. Out: what the suite prints, and its latest result in benchmarks/results; that
of `--quick` goes to build/bench/quick: short runs are not what docs show.
"""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.lib.plan import SUITES as SUITES_OF_THE_PLAN

SUITES = Path(__file__).parent / "suites"


def question(suite: Path) -> str:
    """The first line of the suite's header."""
    text = ast.get_docstring(ast.parse(suite.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def run_plan(quick: bool) -> int:
    """Every suite of the plan; 1 when one failed."""
    environment = dict(os.environ)
    if quick:
        environment.setdefault("BENCHMARK_RESULTS", "build/bench/quick")
    failed = []
    for suite in SUITES_OF_THE_PLAN:
        options = suite.quick if quick else suite.options
        if options is None or suite.proof:
            continue
        began = time.monotonic()
        print(f"== {suite.name} {options}", flush=True)
        command = [sys.executable, "-m", "benchmarks", suite.name, *options.split()]
        if subprocess.run(command, env=environment, check=False).returncode:
            failed.append(suite.name)
        print(f"== {suite.name} took {(time.monotonic() - began) / 60:.1f} min", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def main() -> int:
    suites = {path.stem: path for path in sorted(SUITES.glob("[a-z]*.py"))}
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print("usage: python -m benchmarks NAME [--help | options] | --all | --quick\n")
        for name, path in suites.items():
            print(f"  {name:<15} {question(path)}")
        return 0
    name = sys.argv[1]
    if name in ("--all", "--quick"):
        return run_plan(quick=name == "--quick")
    if name not in suites:
        print(f"benchmarks: there is no suite {name!r}; known: {', '.join(suites)}", file=sys.stderr)
        return 2
    sys.argv = [f"python -m benchmarks {name}", *sys.argv[2:]]
    status: int | None = importlib.import_module(f"benchmarks.suites.{name}").main()
    return status or 0


if __name__ == "__main__":
    sys.exit(main())
