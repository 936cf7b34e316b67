"""`sonde tune`: find the best settings for a program on this machine."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from sonde.cli.inputs import add_json
from sonde.errors import UsageError


class Tune:
    """Find the best settings for a program on this machine, and prove the gain.

    sonde tune [options] -- python train.py --steps 50

    The program is launched many times, in random pairs; let one launch take a few
    seconds. It is never changed: only variables and the way of launching are.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "sonde tune [options] -- command args…"
        parser.add_argument("--budget", type=float, default=15.0, metavar="MINUTES", help="default 15")
        parser.add_argument("--only", action="append", metavar="KNOB", help="turn only this knob")
        parser.add_argument("--env-file", type=Path, metavar="FILE", help="write the winner's variables here")
        parser.add_argument("--journal", type=Path, metavar="FILE", help="keep and resume launches")
        parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random order")
        add_json(parser)
        parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def run(self, options: argparse.Namespace) -> int:
        from sonde.experiment.arm import Arm
        from sonde.experiment.journal import Journal
        from sonde.experiment.knobs import KNOBS
        from sonde.experiment.launches import LaunchMeasure
        from sonde.experiment.paired import Paired
        from sonde.experiment.place import this_place
        from sonde.experiment.tune import tune
        from sonde.render.text.experiments import ProgressLine, show_tuned, tuned_data

        command = options.command[1:] if options.command[:1] == ["--"] else options.command
        if not command:
            raise UsageError("no command given", "for example: sonde tune -- python train.py --steps 50")
        chosen = [k for k in KNOBS if not options.only or k.name in options.only]
        if not chosen:
            raise UsageError(f"no knob {options.only}", "there are: " + ", ".join(k.name for k in KNOBS))
        end = time.monotonic() + options.budget * 60
        line = ProgressLine(sys.stderr, lambda: end - time.monotonic())
        engine = Paired(
            LaunchMeasure(),
            Journal(options.journal),
            options.seed,
            report=line,
            out_of_time=lambda: time.monotonic() > end,
        )
        try:
            tuned = tune(Arm("as is", tuple(command)), this_place(), engine, chosen)
        finally:
            line.close()
        data = tuned_data(tuned)
        show_tuned(data, options.json)
        if options.env_file and tuned.best.environment:
            lines = [f"{k}={v}\n" for k, v in sorted(tuned.best.environment.items())]
            options.env_file.write_text("".join(lines), encoding="utf-8")
        return 0
