"""Entry point: find the verb, load only its file, run it, print its errors."""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import sys
from collections.abc import Container, MutableMapping, Sequence

from sonde.cli.verb import Verb
from sonde.errors import SondeError

# verb -> (module, class, one line). The one line is here so that --help imports nothing.
VERBS: dict[str, tuple[str, str, str]] = {
    "run": ("sonde.cli.run", "Run", "run a program and record it"),
    "show": ("sonde.cli.show", "Show", "print one view of a recording"),
    "insights": ("sonde.cli.insights", "Insights", "say what to change, and how much it saves"),
    "explain": ("sonde.cli.explain", "Explain", "say what a word, operator or frame means"),
    "report": ("sonde.cli.report", "Report", "write a self-contained HTML page"),
    "check": ("sonde.cli.check", "Check", "say what this machine offers and what is wrong with it"),
    "diff": ("sonde.cli.diff", "Diff", "compare recordings: verdict, and where the difference is"),
    "tune": ("sonde.cli.tune", "Tune", "find the best settings for a program here"),
    "prove": ("sonde.cli.prove", "Prove", "try an insight's fix and measure what it saves"),
    "query": ("sonde.cli.query", "Query", "ask a recording with SQL"),
    "import": ("sonde.cli.import_", "Import", "turn what another tool wrote into a recording"),
    "export": ("sonde.cli.export", "Export", "write other tools' formats"),
    "recover": ("sonde.cli.recover", "Recover", "finish a recording whose program was killed"),
    "pack": ("sonde.cli.pack", "Pack", "put a recording into one file, or unpack it"),
}

# These start a program of the user, or ask his torch: it must find the environment as he left it.
STARTS_PROGRAMS = frozenset({"run", "tune", "prove", "check"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help"):
        print(_overview())
        return 0
    if words[0] in ("-V", "--version"):
        from sonde.version import __version__

        print(f"sonde {__version__}")
        return 0
    try:
        verb, parser = _load(words[0])
        return verb.run(_parse(parser, words[1:]))
    except SondeError as error:
        hint = f" → {error.hint}" if error.hint else ""
        print(f"sonde: {error.message}{hint}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt as interrupt:
        print("sonde: interrupted", file=sys.stderr)
        return getattr(interrupt, "exit_code", 130)
    except BrokenPipeError:
        # The reader (head, less) went away: not an error of ours. Keep the
        # interpreter from complaining again when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def spare_threads(name: str, environment: MutableMapping[str, str], loaded: Container[str]) -> None:
    """Keep numpy's OpenBLAS from starting a thread per core, which analysis never uses.

    They cost 11 to 19 of 560 ms of CPU on two cores (`sonde show trace.json.gz gpu`), and memory for each core
    on a large machine. Only before numpy is there, where the user has not chosen, and never where his program
    would inherit it.
    """
    if name not in STARTS_PROGRAMS and "numpy" not in loaded:
        environment.setdefault("OPENBLAS_NUM_THREADS", "1")


def _load(name: str) -> tuple[Verb, argparse.ArgumentParser]:
    from sonde.errors import UsageError

    if name not in VERBS:
        import difflib

        near = difflib.get_close_matches(name, VERBS, 1)
        guess = f"did you mean: sonde {near[0]}" if near else "see: sonde --help"
        raise UsageError(f"there is no verb {name!r}", guess)
    spare_threads(name, os.environ, sys.modules)
    module, cls, _ = VERBS[name]
    verb: Verb = getattr(importlib.import_module(module), cls)()
    parser = argparse.ArgumentParser(
        prog=f"sonde {name}",
        description=inspect.getdoc(verb),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.arguments(parser)
    return verb, parser


def _parse(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """Options may stand anywhere, except where the rest of the line belongs to another program."""
    if any(action.nargs == argparse.REMAINDER for action in parser._actions):
        return parser.parse_args(words)
    return parser.parse_intermixed_args(words)


def _overview() -> str:
    lines = [
        "usage: sonde VERB [options]",
        "",
        "Sonde shows where a deep-learning program spends its time, why, and what to change.",
        "",
    ]
    width = max(map(len, VERBS))
    lines += [f"  {name:{width}}  {line}" for name, (_, _, line) in VERBS.items()]
    lines += ["", "Start with:  sonde run script.py", "Each verb:   sonde VERB --help"]
    return "\n".join(lines)
