"""`sonde bench`: does a change make the program slower? Base against head, for CI."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sonde.cli.experiments import add_experiment, command_of, laboratory
from sonde.cli.inputs import add_json, fresh_path
from sonde.errors import InputError, UsageError

if TYPE_CHECKING:
    from sonde.experiment.gate.gate import Result
    from sonde.experiment.gate.revisions import Revision


class Bench:
    """Compare two revisions of a program: is head slower than base?

    sonde bench [options] -- python train.py --steps 60
    sonde bench                    runs the table [tool.sonde.bench] of pyproject.toml

    Both revisions run on this machine, in pairs in random order. Head is the working tree;
    base is the merge base with the main branch, unless you give --base. Exit code 1
    means that at least one program is slower by more than the limit. On a machine that is too
    noisy to tell, the result is "inconclusive" and the exit code 0.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "sonde bench [options] [-- command args…]"
        parser.add_argument("--base", metavar="REVISION", help="git revision to compare with")
        parser.add_argument(
            "--head", metavar="REVISION", help="git revision to test (default: the working tree)"
        )
        parser.add_argument(
            "--fail-if-slower", default="2%", metavar="PERCENT",
            help="exit with 1 when head is slower by more than this (default 2%%)",
        )  # fmt: skip
        parser.add_argument(
            "--markdown", type=Path, metavar="FILE", help="write a comment for a pull request (- for stdout)"
        )
        parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit XML")
        parser.add_argument("--svg", type=Path, metavar="FILE", help="write a picture of the intervals")
        parser.add_argument("--force", action="store_true", help="overwrite the files")
        add_experiment(parser, 10)
        add_json(parser)
        parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def run(self, options: argparse.Namespace) -> int:
        from sonde.cli.diff import parse_percent
        from sonde.experiment.gate.revisions import checked_out, current, default_base, repository_of
        from sonde.render.text import gate as form
        from sonde.render.text.page import Page

        limit = parse_percent(options.fail_if_slower)
        repository = repository_of(Path.cwd())
        benchmarks = _benchmarks(options.words, repository)
        targets = {  # asked before minutes are spent
            kind: fresh_path(path, path, options.force)
            for kind, path in (("markdown", options.markdown), ("junit", options.junit), ("svg", options.svg))
            if path is not None and str(path) != "-"
        }
        with ExitStack() as stack:
            base = stack.enter_context(checked_out(repository, options.base or default_base(repository)))
            head = (
                stack.enter_context(checked_out(repository, options.head))
                if options.head
                else current(repository)
            )
            inside = Path.cwd().resolve().relative_to(repository.resolve())
            sides = [replace(side, folder=side.folder / inside) for side in (base, head)]
            if not sides[0].folder.is_dir():
                raise UsageError(
                    f"{base.name} has no folder {inside}", "start it where both revisions have the program"
                )
            results = [self._one(options, name, command, sides, limit) for name, command in benchmarks]
            data = form.gate_data(results, base.name, head.name)
        for kind, path in targets.items():
            path.write_text(getattr(form, kind)(data), encoding="utf-8")
        if str(options.markdown) == "-":
            print(form.markdown(data), end="")
        elif options.json:
            print(json.dumps(data, ensure_ascii=False, allow_nan=False))
        else:
            form.show_gate(data, Page())
        return 1 if data["status"] == "fail" else 0

    @staticmethod
    def _one(
        options: argparse.Namespace, name: str, command: tuple[str, ...], sides: list[Revision], limit: float
    ) -> Result:
        from sonde.experiment.gate.gate import arm_of, gate
        from sonde.experiment.measure.launches import LaunchMeasure
        from sonde.experiment.measure.paired import Paired

        base, head = (
            arm_of(which, command, side) for which, side in zip(("base", "head"), sides, strict=True)
        )
        measure = LaunchMeasure(options.timeout, None, options.check, not options.one_by_one)
        start = time.monotonic()
        with laboratory(options, "bench", lambda: None) as lab:
            engine = Paired(measure, lab.journal, options.seed, lab.line, lab.out_of_time, lab.seconds_left)
            found = gate(name, base, head, engine, limit)
        return replace(found, seconds=time.monotonic() - start)


def _benchmarks(words: list[str], repository: Path) -> list[tuple[str, tuple[str, ...]]]:
    """What stands after `--`, or the commands that the project lists."""
    if words:
        command = command_of(words, "sonde bench -- python train.py --steps 60")
        return [(" ".join(command[:4])[:40], command)]
    listed = _listed(repository / "pyproject.toml")
    if not listed:
        raise UsageError(
            "no command was given, and pyproject.toml has no table [tool.sonde.bench]",
            "sonde bench -- python train.py --steps 60",
        )
    return [(name, tuple(shlex.split(command))) for name, command in listed.items()]


def _listed(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    if sys.version_info < (3, 11):
        raise UsageError(
            "reading pyproject.toml needs Python 3.11", "give the command: sonde bench -- command"
        )
    import tomllib

    try:
        table = (
            tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("sonde", {}).get("bench", {})
        )
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    if not isinstance(table, dict) or not all(isinstance(v, str) and v.strip() for v in table.values()):
        raise InputError(
            f"{path}: [tool.sonde.bench] holds something other than commands",
            'write: train = "python train.py"',
        )
    return table
