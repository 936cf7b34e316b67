"""Parsed text: numbers are read out of text, one by one, in every step.

Condition: samples in the parsers of JSON, CSV and numbers, outside a DataLoader, are at least 10 % of the step.
Saving: half to all of the time of those lines, and of lines of the same function that make tensors of what was read:
    bytes need no parsing, and a file that is read again need be read once only.
Not for: text that holds no numbers, and loaders, whose rules say what to do with samples.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.analyze.account.kinds import CODES
from sonde.analyze.samples.stack_index import Mask
from sonde.insights.host_layers import in_loader
from sonde.insights.line_signs import NUMBER_OF_TEXT, PARSES, READS
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.rules.host.constant_rebuilt import CONVERTS
from sonde.insights.subject import Subject
from sonde.insights.ways import ONCE, WITHOUT_TEXT

LEAST_SHARE = 0.10
LEAST_NUMBERS = 0.2  # of the parsers' time
WON_LOW, WON_READ = 0.5, 0.8  # what was read once needs nothing more


def judge(subject: Subject) -> Iterator[Finding]:
    weight, index = subject.host.weight, subject.stacks
    loaded = in_loader(subject)
    # The collector runs because the parser makes objects; what it then does is no parsing.
    parsing = subject.host_with(PARSES, layer="^native$") & ~loaded
    own = parsing & (subject.host_kinds != CODES["gc"])
    numbers = subject.host_with(NUMBER_OF_TEXT, layer="^native$") & own
    if float(weight[numbers].sum()) < LEAST_NUMBERS * float(weight[own].sum()) or not own.any():
        return
    places = subject.places(parsing)
    converting = index.on_stack(index.frames_where(CONVERTS, layer="^native$"))
    made = subject.host_mask(converting) & _same_function(subject, parsing)
    claim = (subject.host_at(places) | made) & ~loaded
    share = subject.share(claim)
    if subject.share(parsing).low < LEAST_SHARE:
        return
    lines = subject.lines(claim, 2)
    place = f"{lines[0].file.rpartition('/')[2]}:{lines[0].line}" if lines else "a line"
    read = any(
        line in facts.calls.get(name, ())
        for file, line in places
        if (facts := subject.source_facts.get(file))
        for name in READS
    )
    way = ONCE if read else WITHOUT_TEXT
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{place} reads numbers out of text in every step: {share.middle:.0%} of it",
            why="The same file is read and parsed in every step." if read else way.why,
            evidence=(
                Evidence(f"{subject.share(parsing).middle:.1%} of the step is below parsers of text"),
                *lines,
            ),
            saving=subject.saving(share, WON_READ if read else WON_LOW),
            confidence="medium",
            fix=way.fix.format(place=place),
            experiment=Experiment("patch", note="compare the results of both versions"),
            way=way.name,
            work="python",
        ),
        claim,
    )


def _same_function(subject: Subject, parsing: Mask) -> Mask:
    """Host samples whose innermost line of the user's is in a function that parses."""
    frames = subject.stacks.frames
    row = np.append(subject.stacks.user_line, -1)[subject.host.stack]
    key = np.where(
        row >= 0,
        frames.text("file").codes[row].astype(np.int64) * len(frames) + frames.text("name").codes[row],
        -1,
    )
    found: Mask = np.isin(key, np.unique(key[parsing & (row >= 0)])) & (row >= 0)
    return found


RULE = Rule(
    "parsed_text", 74, "samples in steady steps", judge, scope="cpu", breadth=0, way="in another format"
)
