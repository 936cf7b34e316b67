"""`sonde tune`: find the best settings for a program on this machine."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from sonde.cli.experiments import add_experiment, command_of, laboratory
from sonde.cli.inputs import add_json
from sonde.errors import UsageError

EXAMPLE = "sonde tune -- python train.py --steps 50"


class Tune:
    """Find the best settings for a program on this machine, and prove what they gain.

    sonde tune [options] -- command args…

    The program is launched many times, as it is and with one setting changed, in
    pairs in random order. The program is not modified. Keep a launch short (some
    dozen steps). Stop with Ctrl-C at any time; resume with --journal.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "sonde tune [options] -- command args…"
        add_experiment(parser, 15)
        parser.add_argument(
            "--only", action="append", metavar="KNOB", help="try only this setting (repeatable)"
        )
        parser.add_argument(
            "--throughput",
            action="store_true",
            help="also try several copies at once, counting the steps of all",
        )
        parser.add_argument(
            "--env-file",
            type=Path,
            metavar="FILE",
            help="write the best settings to this file as KEY=VALUE lines",
        )
        add_json(parser)
        parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def run(self, options: argparse.Namespace) -> int:
        from dataclasses import replace

        from sonde.experiment.design.arm import Arm
        from sonde.experiment.design.place import this_place
        from sonde.experiment.measure.launches import LaunchMeasure
        from sonde.experiment.measure.paired import Paired
        from sonde.experiment.tuning.knobs import KNOBS
        from sonde.experiment.tuning.tune import Tuned, tune
        from sonde.render.text.experiments import show_tuned, tuned_data
        from sonde.render.text.page import Page

        command = command_of(options.command, EXAMPLE)
        unknown = set(options.only or ()) - {k.name for k in KNOBS}
        if unknown:
            raise UsageError(f"no knob {sorted(unknown)}", "there are: " + ", ".join(k.name for k in KNOBS))
        chosen = [k for k in KNOBS if not options.only or k.name in options.only]
        known: list[Tuned] = []

        def show() -> None:
            for tuned in known[-1:]:
                data = tuned_data(tuned)
                if options.json:
                    print(json.dumps(data, ensure_ascii=False, allow_nan=False))
                elif tuned.trials or tuned.finished:
                    show_tuned(data, Page())

        with laboratory(options, "tune", show) as lab:
            engine = Paired(
                LaunchMeasure(options.timeout, check=options.check, turns=not options.one_by_one),
                lab.journal, options.seed, lab.line, lab.out_of_time, lab.seconds_left,
            )  # fmt: skip
            place = replace(this_place(), throughput=options.throughput)
            tune(Arm("as is", command), place, engine, chosen, known.append)
        show()
        if options.env_file and known[-1].best.environment:
            lines = [f"{k}={v}\n" for k, v in sorted(known[-1].best.environment.items())]
            options.env_file.write_text("".join(lines), encoding="utf-8")
            if not options.json:
                print(f"  sonde run --env-file {options.env_file} -- {' '.join(command)}")
        return 0
