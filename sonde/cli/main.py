"""Entry point: find the command, load only its file, run it, print its errors."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Container, MutableMapping, Sequence

    from sonde.cli.command import Command

# Nothing else is imported up here: an interrupt during an import of `main` would meet no handler.

LONGEST_MESSAGE = 2000


class Entry(NamedTuple):
    """Where a command is. Its line is here so that --help imports nothing."""

    module: str
    command: str  # the class
    line: str


COMMANDS: dict[str, Entry] = {
    "run": Entry("sonde.cli.run", "Run", "run a program and record it"),
    "attach": Entry("sonde.cli.attach", "Attach", "record a running program"),
    "demo": Entry("sonde.cli.demo", "Demo", "profile a built-in example and write its report"),
    "show": Entry("sonde.cli.show", "Show", "print one view of a recording"),
    "insights": Entry("sonde.cli.insights", "Insights", "list what to change and how much it saves"),
    "explain": Entry("sonde.cli.explain", "Explain", "explain a term, operator or frame"),
    "report": Entry("sonde.cli.report", "Report", "write a self-contained HTML report"),
    "check": Entry("sonde.cli.check", "Check", "check this machine: features, limits, problems"),
    "diff": Entry("sonde.cli.diff", "Diff", "compare recordings and locate the difference"),
    "tune": Entry("sonde.cli.tune", "Tune", "find the best settings for a program on this machine"),
    "prove": Entry("sonde.cli.prove", "Prove", "measure what an insight's fix saves"),
    "bench": Entry("sonde.cli.bench", "Bench", "compare two revisions of a program, for CI"),
    "query": Entry("sonde.cli.query", "Query", "query a recording with SQL"),
    "import": Entry("sonde.cli.import_", "Import", "convert another tool's file to a recording"),
    "export": Entry("sonde.cli.export", "Export", "convert a recording to another tool's format"),
    "window": Entry("sonde.cli.window", "Window", "record some steps of a running program in detail"),
    "dump": Entry("sonde.cli.dump", "Dump", "print the stacks of a running or hung program"),
    "top": Entry("sonde.cli.top", "Top", "watch what a running program is doing"),
    "watch": Entry("sonde.cli.watch", "Watch", "record a program for as long as it runs, within bounds"),
    "hang": Entry("sonde.cli.hang", "Hang", "find out why a distributed job hangs"),
    "merge": Entry("sonde.cli.merge", "Merge", "merge the recordings of a job's hosts"),
    "daemon": Entry("sonde.cli.daemon", "Daemon", "get a trace of running programs from torch's profiler"),
    "recover": Entry("sonde.cli.recover", "Recover", "finish a recording after a crash"),
    "pack": Entry("sonde.cli.pack", "Pack", "pack a recording into one file, or unpack it"),
    "guide": Entry("sonde.cli.guide", "Guide", "print a one-page guide for coding assistants"),
    "mcp": Entry("sonde.cli.mcp", "Mcp", "serve recordings to assistants over MCP"),
    "completions": Entry("sonde.cli.completions", "Completions", "print a completion script for your shell"),
}

# How --help lists them.
GROUPS: dict[str, tuple[str, ...]] = {
    "Record": ("run", "attach", "window", "demo", "recover"),
    "Look": ("report", "show", "insights", "explain", "query"),
    "Look at a running program": ("top", "watch", "dump", "hang", "daemon"),
    "Compare and improve": ("diff", "prove", "tune", "bench", "check"),
    "Exchange": ("import", "export", "pack", "merge"),
    "Assistants": ("guide", "mcp"),
    "Set up": ("completions",),
}

# These leave nothing behind that only taking the interpreter apart would end.
ENDS_AT_ONCE = frozenset((*GROUPS["Look"], "recover", "diff"))

# These start a program of the user, or ask their torch: it must find the environment as they left it.
STARTS_PROGRAMS = frozenset({"run", "demo", "top", "tune", "prove", "bench", "check"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code. Whatever happens, the user sees one line, no traceback."""
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        _collect_rarely()
    try:
        _print_anything()
        code = _run(words)
        _flush()  # here, where a full disk or a reader that left can still be answered
        if argv is None and words and words[0] in ENDS_AT_ONCE:
            _end(code)
        return code
    except SystemExit:  # argparse has printed its help, or what was wrong
        _leave_pipe()
        raise
    except BrokenPipeError:
        # The reader (head, less) went away: not an error of ours.
        _leave_pipe()
        return 0
    except KeyboardInterrupt as interrupt:
        _leave_pipe()
        _say("interrupted", None)
        return getattr(interrupt, "exit_code", 130)
    except Exception as error:
        _leave_pipe()
        return _failed(error)


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(_overview())
        return 0
    if words[0] in ("-V", "--version"):
        from sonde.version import __version__

        print(f"sonde {__version__}")
        return 0
    command, parser = load(words[0])
    return command.run(_parse(parser, words[1:]))


def _failed(error: Exception) -> int:
    from sonde import errors

    if os.environ.get("SONDE_TRACEBACK", "0") not in ("", "0"):
        import traceback

        traceback.print_exception(error)
    known = errors.expected(error)
    if known is None:
        known = errors.InternalError(
            f"this is a bug in Sonde: {type(error).__name__}: {error}",
            "run it again with SONDE_TRACEBACK=1 and report what it prints",
        )
    _say(known.message, known.hint)
    return known.exit_code


def _say(message: str, hint: str | None) -> None:
    """One line on stderr. What a hostile file put into it cannot move the cursor or begin another line."""
    lines = [line.strip() for line in message.splitlines() if line.strip(" ^~\t")]
    text = " ".join(lines) + (f" → {hint}" if hint else "")
    plain = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:LONGEST_MESSAGE])
    with contextlib.suppress(OSError, ValueError, AttributeError):  # stderr closed or full: nobody to tell
        print(f"sonde: {plain}{'…' if len(text) > LONGEST_MESSAGE else ''}", file=sys.stderr, flush=True)


def _collect_rarely() -> None:
    """Objects of an answer live to its end: looking through them for garbage took a tenth of the time.

    Only where the process is ours alone, not inside a caller's program.
    """
    import gc

    gc.set_threshold(100_000, 50, 100)


def _end(code: int) -> None:
    """End the process once what is to run at its exit has run.

    Taking modules and tables apart one by one took 50 of 470 ms of CPU (`sonde show trace.json.gz gpu`), for memory
    that the system takes back anyway. Not where a thread still works: the interpreter waits for it.
    """
    import atexit

    threading = sys.modules.get("threading")
    if threading is None or threading.active_count() == 1:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(code)


def _print_anything() -> None:
    """Names that the terminal's encoding lacks, or that are no text at all, are printed with escapes."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _flush() -> None:
    if sys.stdout is not None:  # it is where the caller closed it
        sys.stdout.flush()


def _leave_pipe() -> None:
    """Write out what is left; where nobody reads it, keep the interpreter from complaining when it ends."""
    try:
        _flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def spare_threads(name: str, environment: MutableMapping[str, str], loaded: Container[str]) -> None:
    """Keep numpy's OpenBLAS from starting a thread per core, which analysis never uses.

    They cost 11 to 19 of 560 ms of CPU on two cores (`sonde show trace.json.gz gpu`), and memory for each core
    on a large machine. Only before numpy is there, where the user has not chosen, and never where his program
    would inherit it.
    """
    if name not in STARTS_PROGRAMS and "numpy" not in loaded:
        environment.setdefault("OPENBLAS_NUM_THREADS", "1")


def load(name: str) -> tuple[Command, argparse.ArgumentParser]:
    """A command and its parser; a name that is not known is answered with the nearest one."""
    import argparse
    import importlib
    import inspect

    from sonde.cli.parser import Parser
    from sonde.errors import UsageError

    if name not in COMMANDS:
        import difflib

        near = difflib.get_close_matches(name, COMMANDS, 1)
        guess = f"did you mean: sonde {near[0]}" if near else "see: sonde --help"
        raise UsageError(f"there is no command {name!r}", guess)
    spare_threads(name, os.environ, sys.modules)
    module, cls, _ = COMMANDS[name]
    command: Command = getattr(importlib.import_module(module), cls)()
    parser = Parser(
        prog=f"sonde {name}",
        description=inspect.getdoc(command),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.arguments(parser)
    return command, parser


def _parse(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """Options may stand anywhere, except where the rest of the line belongs to another program."""
    import argparse

    if any(action.nargs == argparse.REMAINDER for action in parser._actions):
        return parser.parse_args(words)
    return parser.parse_intermixed_args(words)


def _overview() -> str:
    lines = [
        "usage: sonde COMMAND [options]",
        "",
        "Sonde shows where a deep-learning program spends its time, why, and what to change.",
        "",
    ]
    width = max(map(len, COMMANDS))
    for title, names in GROUPS.items():
        lines += [f"{title}:", *(f"  {name:{width}}  {COMMANDS[name].line}" for name in names), ""]
    lines += [
        "Start with:  sonde run script.py     (no script at hand? sonde demo)",
        "More help:   sonde COMMAND --help",
    ]
    return "\n".join(lines)
