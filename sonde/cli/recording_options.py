"""The options that `sonde run` and `sonde attach` share, and the RunOptions that they ask for."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sonde.cli.watch import add_watch_options, ring_of, window_of

if TYPE_CHECKING:
    from sonde.record.outside.options import RunOptions


def add_recording_options(parser: argparse.ArgumentParser) -> None:
    from sonde.record.outside.options import BUDGET_PERCENT, RATE_HZ

    parser.add_argument("-o", "--output", type=Path, metavar="NAME.sonde", help="recording to write")
    parser.add_argument("--force", action="store_true", help="overwrite an existing recording")
    parser.add_argument(
        "--rate", type=float, default=RATE_HZ, metavar="HZ",
        help=f"samples per second of CPU time (default {RATE_HZ:g})",
    )  # fmt: skip
    parser.add_argument(
        "--window", default="auto", metavar="auto|all|none|steps=A:B",
        help="steps to record in detail with the framework's own profiler",
    )  # fmt: skip
    parser.add_argument(
        "--budget", type=float, default=BUDGET_PERCENT, metavar="PERCENT",
        help=f"time the profiling windows may cost, in percent (default {BUDGET_PERCENT:g})",
    )  # fmt: skip
    parser.add_argument("--no-source", action="store_true", help="do not store source code in the recording")
    parser.add_argument("--no-waits", action="store_true", help="do not record where threads wait")
    add_watch_options(parser, flag=True)
    parser.add_argument("--keep-raw", action="store_true", help="keep the raw logs next to the tables")
    parser.add_argument("--quiet", action="store_true", help="do not print the summary")


def asked(options: argparse.Namespace, **others: Any) -> RunOptions:
    """What was asked for, checked; `others` are the options of one command alone."""
    from sonde.record.outside.options import RunOptions

    return RunOptions(
        rate_hz=options.rate,
        window=window_of(options),
        ring=ring_of(options) if options.watch else None,
        budget_percent=options.budget,
        keep_raw=options.keep_raw,
        source=not options.no_source,
        waits=not options.no_waits,
        **others,
    )
