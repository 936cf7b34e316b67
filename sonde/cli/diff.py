"""`sonde diff`: what changed between two recordings, or two sets of them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sonde import json_text
from sonde.cli.inputs import add_brief, add_json, fresh_path, open_noted, print_brief
from sonde.errors import UsageError


class Diff:
    """Compare recordings: is B slower or faster than A, and where is the difference?

    sonde diff A B                    one recording per side
    sonde diff A1 A2 A3 vs B1 B2 B3   several per side: finds smaller differences

    Recordings may be anything that Sonde opens, Kineto traces included. Intervals (95 %) include
    the variation between runs. With one recording per side, it is estimated from earlier
    recordings of the program in the same folder, or else assumed to be 5 %. Only significant
    rows are shown (false discovery rate 5 %).
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "sonde diff [options] A B | A… vs B…"
        parser.add_argument(
            "recordings",
            nargs="+",
            metavar="A… [vs] B…",
            help="two recordings, or two sets separated by 'vs'",
        )
        parser.add_argument(
            "--force",
            action="store_true",
            help="compare recordings of different programs or settings; overwrite FILE",
        )
        parser.add_argument("--all", action="store_true", help="also show rows that are not significant")
        parser.add_argument("--limit", type=int, default=8, metavar="N", help="rows per table (default 8)")
        parser.add_argument(
            "--fail-if-slower", metavar="PERCENT",
            help="exit with 1 if B is slower by more than this, for example 3%%",
        )  # fmt: skip
        parser.add_argument("--markdown", type=Path, metavar="FILE", help="write a summary (- for stdout)")
        parser.add_argument("--html", type=Path, metavar="FILE", help="write an HTML report of both")
        add_json(parser)
        add_brief(parser)

    def run(self, options: argparse.Namespace) -> int:
        from sonde.compare.difference import difference
        from sonde.compare.likeness import likeness
        from sonde.compare.remedy import command_that_tells
        from sonde.render.text import diff
        from sonde.render.text.page import Page
        from sonde.store.earlier import earlier_alike

        threshold = parse_percent(options.fail_if_slower) if options.fail_if_slower else None
        names = split_sides(options.recordings)
        sides = [[open_noted(Path(name)) for name in side] for side in names]
        alike = likeness(sides[0], sides[1])
        if alike.unlike and not options.force:
            raise UsageError(
                "these recordings are of different programs or settings; " + "; ".join(alike.unlike),
                "record both the same way, or add --force",
            )
        every = [*sides[0], *sides[1]]
        earlier = [earlier_alike(side[0], every) for side in sides]
        told = difference(sides[0], sides[1], earlier)
        command = command_that_tells(sides, names, told.judgement.more_runs)
        found = diff.data(told, alike, names, command)
        if options.html:
            from sonde.render.html import write_diff_report

            target = fresh_path(options.html, options.html, options.force)
            write_diff_report(sides[0][0], sides[1][0], target, found)
            print(target.resolve().as_uri(), file=sys.stderr)
        if options.markdown:
            text = diff.markdown(found, options.limit)
            if str(options.markdown) == "-":
                print(text)
            else:
                fresh_path(options.markdown, options.markdown, options.force).write_text(
                    text, encoding="utf-8"
                )
        if options.brief:
            print_brief(found, "diff", str(names[1][0]), sides[1][0])
        elif options.json:
            print(json_text.dumps(found))
        elif str(options.markdown) != "-":
            diff.show(found, Page(), options.all, options.limit)
        return self._exit_code(found, threshold)

    @staticmethod
    def _exit_code(found: dict[str, object], threshold: float | None) -> int:
        if threshold is None:
            return 0
        ratio, floor = found["ratio"], found["noise_floor"]
        assert isinstance(ratio, float)
        if found["verdict"] == "slower" and ratio - 1 > threshold:
            print(f"sonde: slower by {ratio - 1:.1%}, more than {threshold:.1%}", file=sys.stderr)
            return 1
        if not isinstance(floor, float) or floor > threshold:
            told = f"{floor:.1%}" if isinstance(floor, float) else "unknown"
            print(
                f"sonde: the smallest difference these recordings show is {told}; "
                f"{threshold:.1%} could have been missed → give more recordings per side",
                file=sys.stderr,
            )
        return 0


def split_sides(words: list[str]) -> tuple[list[str], list[str]]:
    """What stands before and after `vs`; two words need none."""
    if "vs" in words:
        at = words.index("vs")
        sides = words[:at], words[at + 1 :]
        if sides[0] and sides[1] and "vs" not in sides[1]:
            return sides
        raise UsageError("give recordings on both sides of one 'vs'", "sonde diff A1 A2 vs B1 B2")
    if len(words) == 2:
        return [words[0]], [words[1]]
    raise UsageError(
        f"{len(words)} recording{'s' * (len(words) != 1)} given: which belong to which side?",
        "two recordings, or put the word vs between the sides: sonde diff A1 A2 vs B1 B2",
    )


def parse_percent(text: str) -> float:
    """3%, 3 or 0.5% → a share."""
    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        raise UsageError(f"{text!r} is not a percentage", "write it like 3%") from None
    if not 0 < share < 10:
        raise UsageError(f"{text} is out of range", "write it like 3%")
    return share
