"""`sonde demo`: from nothing to a report, without a program of one's own."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

from sonde.cli.inputs import fresh_path

EXAMPLES = {"torch": "torch_classifier.py", "numpy": "numpy_classifier.py"}
NO_TORCH = (
    "torch is not installed in {python}, so this is the numpy example:\n"
    "no operators, modules or training steps, but Python lines, C code and waits.\n"
    "For the torch example: pip install torch, then sonde demo again.\n"
)


class Demo:
    """Profile a built-in example, and write its recording and report here.

    Trains a small classifier for a few seconds: with torch if it is installed, else with
    numpy. The example contains one mistake that slows it down.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--example", choices=tuple(EXAMPLES), help="which example (default: torch, if it is installed)"
        )

    def run(self, options: argparse.Namespace) -> int:
        from sonde.cli.main import main

        has_torch = importlib.util.find_spec("torch") is not None
        example = options.example or ("torch" if has_torch else "numpy")
        if not has_torch:
            _require_numpy_example(example)
            print(NO_TORCH.format(python=sys.executable))
        program = Path(__file__).parent.parent / "examples" / EXAMPLES[example]
        folder = fresh_path(None, Path("demo.sonde"), force=False)
        page = fresh_path(None, folder.with_suffix(".html"), force=False)
        print(f"$ sonde run -o {folder} {program}", flush=True)
        code = main(["run", "-o", str(folder), str(program)])
        if code:
            return code
        print(f"\n$ sonde report {folder} -o {page}", flush=True)
        code = main(["report", str(folder), "-o", str(page)])
        if code == 0:
            print(f"\nOpen the page above in a browser, or go on here:\n{_next(folder, example)}")
        return code


def _require_numpy_example(example: str) -> None:
    from sonde.errors import EnvironmentLacks

    if example == "torch":
        raise EnvironmentLacks(
            f"torch is not installed in {sys.executable}",
            "pip install torch, or: sonde demo --example numpy",
        )


def _next(folder: Path, example: str) -> str:
    commands = [
        (f"sonde insights {folder}", "what to change, and how much it saves"),
        (f"sonde show {folder} {'ops' if example == 'torch' else 'stacks'}", "where the time goes"),
        ("sonde run your_script.py", "the same for your program"),
    ]
    width = max(len(command) for command, _ in commands)
    return "\n".join(f"  {command:{width}}  # {purpose}" for command, purpose in commands)
