"""`sonde dump`: the stacks of a program that already runs, or hangs."""

from __future__ import annotations

import argparse


class Dump:
    """Print the stacks of all threads of a running program, once.

    Python and native frames, what each thread waits for, and who holds the lock
    where that can be known. The program needs no preparation: nothing is loaded
    into it. Threads that run are stopped for some milliseconds; threads that wait
    are not. Works on programs that hang, deadlock or are stopped.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("pid", type=int, nargs="+", metavar="PID", help="the processes to look at")
        parser.add_argument("--json", action="store_true", help="print JSON, one entry per thread")
        parser.add_argument("--python", action="store_true", help="print Python frames only")

    def run(self, options: argparse.Namespace) -> int:
        from sonde.live.dump import dump
        from sonde.render.text import dump as text
        from sonde.symbols.resolver import Resolver

        resolver = Resolver(with_lines=False)
        dumps = [dump(pid, resolver) for pid in options.pid]
        print(text.as_json(dumps) if options.json else text.as_text(dumps, python_only=options.python))
        return 0
