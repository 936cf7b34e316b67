"""All tests, as `make test` runs them: python -m tests.run [--second-chance] [PATH …]

Tests that start programs but look at no clock share the cores; those marked `serial` run alone afterwards. The last
lines say what was skipped and why, what passed only the second time, and whether pictures in docs are old.

Many tests hold Sonde against the clocks of a machine that others share. With --second-chance, as in CI, what failed
runs once more, all by itself, after everything that it said the first time has been printed. At home a test that fails
once in twenty runs is a fault to be found.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.lib import document
from scripts import pictures

PARTS = {
    "side by side": ["-m", "not serial", "-n", "2", "--dist", "loadfile", "--durations", "10"],
    "alone": ["-m", "serial", "--durations", "25"],
}
AGAIN = ["--last-failed", "--last-failed-no-failures", "none"]
NOTHING_COLLECTED = 5


def pytest(account: Path, *words: str) -> tuple[int, dict[str, list[str] | dict[str, int] | int]]:
    """The exit code of one run and its account; an empty one when pytest itself broke down."""
    account.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "--strict-skips", "--account", str(account), *words]
    code = subprocess.run(command, check=False).returncode
    return code, json.loads(account.read_text()) if account.exists() else {}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--second-chance", action="store_true")
    parser.add_argument("paths", nargs="*", default=["tests"])
    options = parser.parse_args()
    passed, failed, second = 0, list[str](), list[str]()
    skipped: Counter[str] = Counter()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        account = Path(folder) / "account.json"
        for name, words in PARTS.items():
            began = time.monotonic()
            code, told = pytest(account, *options.paths, *words)
            wrong = list(told.get("failed", []))
            broken = code not in (0, NOTHING_COLLECTED) and not wrong
            passed += told.get("passed", 0)
            skipped.update(told.get("skipped", {}))
            if wrong and options.second_chance:
                print(f"\n[second chance] {len(wrong)} tests", flush=True)
                chance = [word for word in words if word not in ("-n", "2", "--dist", "loadfile")]
                code, told = pytest(account, *options.paths, *chance, *AGAIN)
                still = list(told.get("failed", wrong)) if told else wrong
                second += [test for test in wrong if test not in still]
                passed += told.get("passed", 0)
                wrong = still
            failed += wrong or ([f"pytest itself, exit code {code}"] if broken else [])
            lines.append(f"{name}: {(time.monotonic() - began) / 60:.1f} min")
    print("\n" + "; ".join(lines))
    for reason, count in skipped.items():
        print(f"skipped: {count} × {reason}")
    if old := pictures.outdated():
        print(f"pictures: older than the report's page ({', '.join(old)}): make pictures")
    if old := document.outdated():
        print(f"benchmarks: results are newer than {', '.join(old)}: make bench-docs")
    print(
        f"second chance: {len(second)} tests passed only the second time"
        + "".join(f"\n  {t}" for t in second)
    )
    print(f"{passed} passed, {sum(skipped.values())} skipped, {len(failed)} failed")
    for test in failed:
        print(f"  {test}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
