"""Do insights leave good programs alone? Models as their authors mean them to be run, and every example.

Usage: python -m benchmarks insights_clean [--keep FOLDER] [--minutes M] [--transformers PYTHON] [NAME …]
Each program is recorded once and judged. A finding that the program's own text does not tell of is an alarm, true
or false: it is printed with its evidence, for an experiment to decide. transformers' models need a Python
that has transformers (`--transformers`, default: this one); without it they are left out, and that is said.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.lib.environment import write
from sonde.ingest import open_any
from sonde.insights.engine import judge

ROOT = Path(__file__).parents[2]
MODELS = {
    f"clean-{name}": ["clean_models.py", name, "--steps", "80"] for name in ("gpt2", "bert", "vit", "resnet")
}
EXAMPLES = {
    "vae": ["vae.py", "--steps", "200"],
    "mlp": ["mlp.py", "--steps", "600"],
    "convnet": ["convnet.py", "--steps", "40"],
    "matmul_add": ["matmul_add.py", "--steps", "1000"],
    "gpt": ["gpt.py", "--steps", "80"],
    "loader": ["loader.py", "--steps", "100"],
}
# What the examples' own texts say of them: there to be found.
TOLD = {"loader": {"loader_stall"}, "vae": {"per_tensor_optimizer"}}


def transformers_python() -> str:
    """That of `make bench`, or this one."""
    made = ROOT / ".make" / "environments" / "trainers" / "bin" / "python"
    return str(made) if made.exists() else sys.executable


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="programs (default: all)")
    parser.add_argument("--keep", type=Path, help="keep recordings in this folder, and use them")
    parser.add_argument("--again", action="store_true", help="record nothing: judge what --keep kept")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no program after so long")
    parser.add_argument(
        "--transformers", default=transformers_python(), help="a Python that has transformers"
    )
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    rows, missing = [], []
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.names or [*MODELS, *EXAMPLES]:
            recording = folder / f"{name}.sonde"
            if not recording.exists():
                late = options.again or time.monotonic() > until
                if late or not record(name, recording, options.transformers):
                    missing.append(name)
                    continue
            rows.append(read(name, recording))
            print(line(rows[-1]), flush=True)
    alarms = [(row["name"], said) for row in rows for said in row["alarms"]]
    print(f"{len(rows)} programs, {len(alarms)} alarms: {alarms or 'none'}; not run: {missing or 'none'}")
    print(write("insights_clean", {"rows": rows, "missing": missing}))


def record(name: str, target: Path, transformers: str) -> bool:
    """Record a program; False where a model cannot run because there is no transformers."""
    python = transformers if name in MODELS else sys.executable
    folder = ROOT / "benchmarks" / "workloads" if name in MODELS else ROOT / "examples"
    script, *words = {**MODELS, **EXAMPLES}[name]
    if (
        name in MODELS
        and subprocess.run([python, "-c", "import transformers"], capture_output=True).returncode
    ):
        return False
    command = [python, "-m", "sonde", "run", "--force", "-o", str(target), str(folder / script), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise SystemExit(f"sonde run of {name} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return True


def read(name: str, recording: Path) -> dict[str, Any]:
    report = judge(open_any(recording))
    if report.failed:
        raise SystemExit(f"a rule failed on {name}: {report.failed}")
    said = {i.rule: [i.title, *(e.text for e in i.evidence)] for i in report.insights if not i.pointer}
    return {
        "name": name,
        "step_ms": report.step_ms,
        "verdict": report.bound.word if report.bound else None,
        "said": said,
        "alarms": sorted(set(said) - TOLD.get(name, set())),
        "not_judged": len(report.not_judged),
    }


def line(row: dict[str, Any]) -> str:
    step = f"{row['step_ms']:.2f} ms" if row["step_ms"] else "no steps"
    text = f"{row['name']:14} {step:>12}  {row['verdict']}  {row['alarms'] or 'nothing'}"
    return "\n".join([text, *(f"    {rule}: {'; '.join(words)}" for rule, words in row["said"].items())])


if __name__ == "__main__":
    main()
