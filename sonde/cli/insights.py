"""`sonde insights`: what to change, how much it saves, and why."""

from __future__ import annotations

import argparse
from pathlib import Path

from sonde import json_text
from sonde.cli.inputs import add_brief, add_engine, add_json, called, open_input, print_brief
from sonde.errors import UsageError


class Insights:
    """List what to change in a program, how much each change saves, and how to prove it.

    Takes recordings, traces, and folders with one trace per rank. Several are judged one by one.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "recordings", type=Path, nargs="+", metavar="REC", help="recordings, traces, or folders of ranks"
        )
        parser.add_argument(
            "--verify",
            type=float,
            metavar="MINUTES",
            help="spend MINUTES on experiments that need no edit; mark each insight as proved, refuted or open",
        )
        parser.add_argument("--all", action="store_true", help="also list the checks that found nothing")
        add_engine(parser)
        add_json(parser)
        add_brief(parser)

    def run(self, options: argparse.Namespace) -> int:
        from dataclasses import asdict

        from sonde.analyze.recording.notes import notes
        from sonde.cli.verify import verify
        from sonde.experiment.proving import ledger
        from sonde.insights.engine import judge
        from sonde.insights.to_json import report_json
        from sonde.render.text.insights import show_insights
        from sonde.render.text.notes import show_notes
        from sonde.render.text.page import Page
        from sonde.views.brief_insights import arranged

        found = []
        for path in options.recordings:
            recording = open_input(path, options.engine, options.run_number)
            first = notes(recording.meta.details, recording.meta.options, recording.table)
            found.append((called(path, options.run_number), first, judge(recording)))
            if options.brief and options.verify is None:
                name, _, report = found[-1]
                print_brief(arranged(recording, report, first, name), "insights", name, recording)
        if options.brief and options.verify is None:
            return 0
        if options.verify is not None and (len(found) > 1 or options.verify <= 0):
            raise UsageError(
                "--verify takes one recording and a time above 0", "sonde insights REC --verify 10"
            )
        marks = [] if options.verify is None else verify(path, found[0][2].insights, options.verify)
        proofs = {c.rule: c for c in ledger.calibration(ledger.read(ledger.ledger_path()))}
        if options.json:
            said = [
                {
                    "recording": name,
                    "notes": first,
                    **report_json(report),
                    "verified": [asdict(mark) for mark in marks],
                }
                for name, first, report in found
            ]
            print(json_text.dumps(said[0] if len(said) == 1 else {"recordings": said}, indent=1))
            return 0
        page = Page()
        for name, first, report in found:
            if len(found) > 1:
                page.heading(name)
            show_notes(first, page)
            show_insights(report, page, name, everything=options.all)
            for rule in dict.fromkeys(i.rule for i in report.insights):
                told = proofs.get(rule)
                if told is not None and told.share is not None:
                    judged = told.held + told.promised_too_much + told.promised_too_little
                    page.line(f"Predictions of {rule} that held when proved by you: {told.held} of {judged}")
        for mark in marks:
            page.line(f"{mark.state}: {mark.rule} ({mark.reason})")
        return 0
