"""`sonde prove`: apply an insight's experiment and set the measured saving against the predicted one."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from sonde.cli.experiments import add_experiment, command_of, laboratory
from sonde.cli.inputs import add_json, open_input
from sonde.errors import UsageError

if TYPE_CHECKING:
    from sonde.experiment.design.arm import Arm
    from sonde.insights.model import Insight

# What Sonde itself set while recording is no part of the program's surroundings.
OURS = ("ONEDNN_JIT_PROFILE", "PYTHONPATH", "LD_PRELOAD")


class Prove:
    """Prove an insight: run the program with and without the fix, in pairs in random order.

    sonde prove REC RULE [options] [-- command args…]
    sonde prove REC RULE --before 'COMMAND' --after 'COMMAND'
    sonde prove --before 'COMMAND' --after 'COMMAND'
    sonde prove --ledger

    Without a command the recorded one is run again. RULE is a name that `sonde insights REC`
    prints. For fixes that need an edit, use --before and --after.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "sonde prove REC RULE [options] [-- command args…]"
        self.parser = parser
        parser.add_argument("--before", metavar="COMMAND", help="command without the change")
        parser.add_argument("--after", metavar="COMMAND", help="command with the change")
        parser.add_argument(
            "--launches",
            action="store_true",
            help="always compare whole runs, even if the setting can be toggled in-process",
        )
        parser.add_argument(
            "--block",
            type=int,
            default=10,
            metavar="N",
            help="steps per block when toggling in-process (default 10)",
        )
        parser.add_argument(
            "--ledger", action="store_true", help="list predictions and their measured outcomes"
        )
        add_experiment(parser, 10)
        add_json(parser)
        parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def run(self, options: argparse.Namespace) -> int:
        words, command = self._split(options)
        if options.ledger:
            return self._ledger(options)
        if (options.before is None) != (options.after is None):
            raise UsageError("--before and --after go together", "give both commands")
        if not words and options.before is None:
            raise UsageError("nothing to prove", "sonde prove REC RULE, or --before 'CMD' --after 'CMD'")
        insight, folder, before, after = self._arms(options, words, command)
        return self._prove(options, words, insight, folder, before, after)

    def _split(self, options: argparse.Namespace) -> tuple[list[str], list[str]]:
        """REC and RULE; the command after `--`. Options may stand between them."""
        words: list[str] = options.words
        at = words.index("--") if "--" in words else len(words)
        left, command = words[:at], words[at + 1 :]
        count = 0
        while count < len(left) and not left[count].startswith("-"):
            count += 1
        if left[count:]:
            self.parser.parse_args(left[count:], options)
            if options.words:
                raise UsageError(f"{options.words[0]!r} is not understood", "put the command after --")
        if count > 2 or count == 1:
            raise UsageError(
                f"{count} words given: {' '.join(left[:count])}", "sonde prove REC RULE [-- command]"
            )
        return left[:count], command

    def _arms(
        self, options: argparse.Namespace, words: list[str], command: list[str]
    ) -> tuple[Insight | None, Path | None, Arm, Arm]:
        from dataclasses import replace

        from sonde.experiment.design.arm import Arm
        from sonde.experiment.proving.prove import arms_of
        from sonde.redact import HIDDEN

        insight: Insight | None = None
        folder: Path | None = None
        recorded: tuple[str, ...] = ()
        environment: dict[str, str] = {}
        if words:
            recording = open_input(Path(words[0]))
            insight = find_insight(recording, words[1], needed=options.before is None)
            recorded = tuple(recording.meta.command)
            folder = Path(recording.meta.directory) if recording.meta.directory else None
            environment = {
                k: v for k, v in recording.meta.environment.items() if k not in OURS and HIDDEN not in v
            }
        if options.before is not None:
            before, after = (Arm(n, tuple(shlex.split(c))) for n, c in
                             (("before", options.before), ("after", options.after)))  # fmt: skip
            if not before.command or not after.command:
                raise UsageError("--before or --after is empty", "give both commands")
            return insight, None, before, after
        assert insight is not None
        chosen = command_of(command, "sonde prove REC RULE -- python train.py") if command else recorded
        if not chosen:
            raise UsageError(
                "the recording does not say what was run", "give it: sonde prove REC RULE -- command"
            )
        if not command and any(HIDDEN in word for word in recorded):
            raise UsageError(
                "the recording does not keep the secrets of its command line",
                f"give the command whole: sonde prove {words[0]} {words[1]} -- command",
            )
        before, after = arms_of(insight.experiment, chosen)
        # As it was recorded, whatever the shell has now.
        after = replace(after, environment={**environment, **after.environment})
        return insight, None if command else folder, replace(before, environment=environment), after

    def _prove(
        self, options: argparse.Namespace, words: list[str], insight: Insight | None, folder: Path | None,
        before: Arm, after: Arm,
    ) -> int:  # fmt: skip
        from sonde.experiment.measure.launches import LaunchMeasure
        from sonde.experiment.measure.paired import Paired
        from sonde.experiment.proving import ledger
        from sonde.experiment.proving.proof import outcome_of
        from sonde.experiment.proving.prove import flip_measure, prove
        from sonde.render.text.page import Page
        from sonde.render.text.proofs import proof_data, show_proof

        measure = None if options.launches else flip_measure(before, after, options.block, options.seed)
        if measure is None:
            measure = LaunchMeasure(options.timeout, folder, options.check, not options.one_by_one)
        with laboratory(options, "prove", lambda: None) as lab:
            engine = Paired(measure, lab.journal, options.seed, lab.line, lab.out_of_time)
            found = prove(before, after, engine, insight, words[1] if words else "")
        ledger.add(outcome_of(found, " ".join(before.command)[:80], insight), ledger.ledger_path())
        data = proof_data(found)
        if options.json:
            print(json.dumps(data, ensure_ascii=False, allow_nan=False))
        else:
            show_proof(data, Page())
            if insight is not None and insight.experiment.note:
                print(f"  Note: {insight.experiment.note}")
        return 0

    @staticmethod
    def _ledger(options: argparse.Namespace) -> int:
        from sonde.experiment.proving import ledger
        from sonde.render.text.page import Page
        from sonde.render.text.proofs import ledger_data, show_ledger

        outcomes = ledger.read(ledger.ledger_path())
        data = ledger_data(outcomes, ledger.calibration(outcomes))
        if options.json:
            print(json.dumps(data, ensure_ascii=False, allow_nan=False))
        else:
            show_ledger(data, Page())
        return 0


def find_insight(recording: object, rule: str, needed: bool) -> Insight | None:
    """The best insight of that rule; without one there is no prediction to hold it to."""
    from sonde.insights.engine import judge
    from sonde.store.recording import Recording

    assert isinstance(recording, Recording)
    report = judge(recording)
    mine = [i for i in report.insights if i.rule == rule]
    if mine or not needed:
        return mine[0] if mine else None
    names = sorted({i.rule for i in report.insights})
    why = report.not_judged.get(rule)
    told = f"{rule} could not be judged: {why}" if why else f"no insight {rule!r} in this recording"
    raise UsageError(
        told, "there are: " + ", ".join(names) if names else "there are none; see: sonde insights REC"
    )
