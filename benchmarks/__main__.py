"""`python -m benchmarks NAME …` runs the suite benchmarks/suites/NAME.py; without a name, the suites are listed.

In: the name of a suite and its options. Out: what the suite prints, and its latest result in benchmarks/results.
"""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

SUITES = Path(__file__).parent / "suites"


def question(suite: Path) -> str:
    """The first line of the suite's header."""
    text = ast.get_docstring(ast.parse(suite.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def main() -> int:
    suites = {path.stem: path for path in sorted(SUITES.glob("[a-z]*.py"))}
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print("usage: python -m benchmarks NAME [--help | options]\n")
        for name, path in suites.items():
            print(f"  {name:<15} {question(path)}")
        return 0
    name = sys.argv[1]
    if name not in suites:
        print(f"benchmarks: there is no suite {name!r}; known: {', '.join(suites)}", file=sys.stderr)
        return 2
    sys.argv = [f"python -m benchmarks {name}", *sys.argv[2:]]
    status: int | None = importlib.import_module(f"benchmarks.suites.{name}").main()
    return status or 0


if __name__ == "__main__":
    sys.exit(main())
