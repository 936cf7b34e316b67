"""sonde check."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sonde.machine.dispatch import Answer
    from sonde.machine.facts import Facts
    from sonde.machine.roofs import MeasuredRoofs


class Check:
    """Show what this machine offers, what the libraries use of it, and what is wrong.

    Fast and without torch; --torch asks the torch of a Python in a child process,
    --pid looks at a running process: its limits, environment and loaded libraries.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--torch", action="store_true", help="ask torch in a child process")
        parser.add_argument("--python", metavar="PATH", help="the Python to ask (default: this one)")
        parser.add_argument("--pid", help="check a running process instead of this one")
        parser.add_argument(
            "--roof",
            action="store_true",
            help="measure peak compute rates and bandwidths (under 20 s) and save them",
        )
        parser.add_argument(
            "--why",
            type=Path,
            metavar="REC",
            help="ask oneDNN why it chose the slow kernels of a recording or log",
        )
        parser.add_argument("--json", action="store_true", help="print {facts, findings} as JSON")
        parser.add_argument(
            "--strict", action="store_true", help="exit 1 when there is an error or a warning"
        )
        parser.add_argument(
            "--root", type=Path, default=Path("/"), help="read /proc and /sys under this folder"
        )

    def run(self, options: argparse.Namespace) -> int:
        from sonde.errors import InputError, UsageError
        from sonde.machine import facts as machine_facts
        from sonde.machine import installation, torch_probe
        from sonde.machine import problems as machine_problems
        from sonde.machine.tree import Tree

        pid = options.pid or "self"
        if pid != "self" and not pid.isdigit():
            raise UsageError(f"--pid {pid!r} is not a process number")
        tree = Tree(options.root)
        if not tree.path("/proc").is_dir() and not tree.path("/sys").is_dir():
            raise InputError(
                f"{options.root} has neither proc nor sys", "--root needs the root folder of a machine"
            )
        if pid != "self" and tree.text(f"/proc/{pid}/status") is None:
            raise InputError(f"process {pid} does not exist or belongs to another user")
        torch = torch_probe.ask(options.python) if options.torch or options.python else None
        facts = machine_facts.gather(tree, pid, torch=torch)
        if pid != "self" and tree.live:
            _say_attachable(int(pid), options.json)
        problems = [*(installation.find() if tree.live else []), *machine_problems.find(facts)]
        roofs = _roofs(facts, options) if tree.live else None
        why = _reasons(options) if options.why else []
        if options.json:
            answer: dict[str, Any] = {
                "facts": machine_facts.to_json(facts),
                "findings": [asdict(f) for f in problems],
            }
            answer["roofs"] = asdict(roofs) if roofs else None
            answer["why"] = [asdict(w) for w in why]
            print(json.dumps(answer, indent=1, ensure_ascii=False, allow_nan=False))
        else:
            from sonde.render.machine_text import render, why_lines

            print(render(facts, problems, roofs))
            if options.why:
                print("\n".join(["", *why_lines(why)]))
        wrong = any(f.severity in ("error", "warning") for f in problems)
        return 1 if options.strict and wrong else 0


def _say_attachable(pid: int, as_json: bool) -> None:
    """Whether `sonde attach` may enter it, on stderr where the answer is JSON."""
    from sonde.machine.attachable import obstacles

    found = obstacles(pid)
    text = f"sonde attach {pid}: possible" if not found else f"sonde attach {pid}: not possible"
    lines = [text, *(f"  {one.reason} → {one.remedy}" for one in found)]
    print("\n".join(lines), file=sys.stderr if as_json else sys.stdout)


def _roofs(facts: Facts, options: argparse.Namespace) -> MeasuredRoofs | None:
    """Measure when asked, else what was measured before."""
    from sonde.errors import EnvironmentLacks
    from sonde.machine import roof_torch, roofs

    if not options.roof:
        return roofs.load(roofs.machine_id(facts))
    if sys.stderr.isatty():
        print("measuring what this machine can do, about 15 s …", file=sys.stderr)
    counts = sorted({1, facts.effective_cpus or 1})
    try:
        peaks = roof_torch.ask(counts, options.python)
    except EnvironmentLacks:
        peaks = None  # without torch, multiply-adds in registers stand for the peak
    found = roofs.measure(facts, peaks)
    path = roofs.save(found)
    print(f"kept in {path}", file=sys.stderr)
    return found


def _reasons(options: argparse.Namespace) -> list[Answer]:
    """Ask about the weak kernels that took most time."""
    from sonde.ingest import open_any
    from sonde.machine import dispatch
    from sonde.machine.weak import questions

    return dispatch.ask(questions(open_any(options.why)), options.python)
