"""`sonde window`: some steps in detail, now, in a program that is being recorded."""

from __future__ import annotations

import argparse

from sonde.errors import UsageError


class Window:
    """Record the next training steps of a program in detail, now.

    The program must be recorded by `sonde run` or `sonde attach`; the window becomes
    part of that recording. It opens between two operators of the training thread,
    even if --budget is used up.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("pid", type=int, metavar="PID", help="the process to record")
        parser.add_argument("--steps", type=int, default=3, metavar="N", help="steps to record (default 3)")
        parser.add_argument(
            "--patience",
            type=float,
            default=60.0,
            metavar="SECONDS",
            help="how long to wait for it (default 60)",
        )

    def run(self, options: argparse.Namespace) -> int:
        from sonde.record.outside.attach.ask import record_window

        if not 1 <= options.steps <= 1000:
            raise UsageError(f"--steps {options.steps} is out of range", "choose 1 to 1000")
        taken_s = record_window(options.pid, options.steps, options.patience)
        steps = "1 step" if options.steps == 1 else f"{options.steps} steps"
        print(f"recorded {steps} of process {options.pid} in detail, within {taken_s:.1f} s")
        return 0
