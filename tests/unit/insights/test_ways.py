"""The way that a card names: what the program's text and its stacks say of a line, and what is only guessed."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from sonde.columns import Table
from sonde.insights.engine import judge
from sonde.insights.rules.host import constant_rebuilt, costly_kind, parsed_text, python_overhead
from sonde.insights.rules.input import synchronous_loader
from sonde.insights.source_facts import FileFacts, source_facts
from sonde.insights.source_told import drawing_functions
from sonde.insights.ways import Signs, way_of
from sonde.store import build
from sonde.store.recording import Recording
from tests.unit.insights.made_loop import BACKWARD, FILE, LOOP, MODEL, MS, UPDATE, Frame, Spent, line, op
from tests.unit.insights.pairs.host import JSON, STRTOD, batch, model
from tests.unit.insights.pairs.recordings import START, made
from tests.unit.insights.planted import mark


def facts(text: str) -> FileFacts:
    sources = build.table("sources", file=[FILE], text=[text], changed=[0])
    return source_facts(sources)[FILE]


def written(run: Recording, text: str) -> Recording:
    """The recording, with the text of its file."""
    sources = build.table("sources", file=[FILE], text=[text], changed=[0])
    return Recording(run.meta, {t.name: t for t in run.tables()} | {"sources": sources})


MANY: dict[str, Any] = {"visits": 1000.0, "turn_ns": 200.0}


@pytest.mark.parametrize(
    ("signs", "way", "guess"),
    [
        (Signs("python", "after", **MANY), "in bulk", False),
        (Signs("python", "after", told=True, **MANY), "less often", False),
        (Signs("python", "before", told=True, **MANY), "in bulk", False),
        (Signs("python", "before", text=True, **MANY), "elsewhere", True),
        (Signs("python", "before", text=True, numbers=True, **MANY), "in bulk", False),
        (Signs("python", "loop", looks_up=True, **MANY), "once", False),
        (Signs("python", "loop", looks_up=True), "in bulk", True),
        (Signs("python", "loop", parses=True, **MANY), "in another format", False),
        (Signs("python", "after"), "less often", False),
        (Signs("python", "after", needed=True), "in bulk", True),
        # What the step needs is never left out of steps.
        (Signs("random", "before"), "elsewhere", True),
        (Signs("arithmetic", "forward"), "once", True),
        (Signs("debugging", "after", told=True), "not at all", False),
    ],
)
def test_a_sign_decides_and_without_one_the_way_is_a_guess(signs: Signs, way: str, guess: bool) -> None:
    found = way_of(signs)
    assert (found.name, found.guess) == (way, guess)


LOOP_TEXT = """
def train():
    while unfinished():
        loss = model(x)
        rate = error_rate(x)
        best = max(best, loss)
        shown = f(x)
        print(shown)
        kept = f(x)
        history.append(kept)
    print(rate)
"""


def test_what_only_people_read_is_told_from_what_the_loop_reads() -> None:
    assert facts(LOOP_TEXT).told == {5, 7}
    assert facts("def use():\n    return rate\nfor x in y:\n    rate = f(x)\n").told == set()


def test_a_container_made_for_one_element_is_a_look_up() -> None:
    text = (
        "a = dict(model.named_parameters())[name]\n"
        "b = name in list(names)\n"
        "c = list(names).index(name)\n"
        "d = dict(pairs)['x']\n"
        "e = list(names)[1:]\n"
        "f = names[name]\n"
        "g = name in names\n"
    )
    assert facts(text).looks_up == {1, 2, 3}


def test_functions_that_draw_are_known_by_what_they_call() -> None:
    text = (
        "def crop(x):\n    return x[torch.randint(4, (1,)):]\n"
        "def changed(x):\n    return self.transform(x)\n"
        "def plain(x):\n    return zlib.decompress(x)\n"
    )
    assert drawing_functions(ast.parse(text)) == {"crop", "changed"}


def test_a_loop_of_numpy_is_not_the_interpreters_work() -> None:
    power: Frame = ("native", "DOUBLE_power_AVX2", {"library": "_multiarray_umath.cpython-311.so"})
    item: Frame = ("native", "gentype_item", {"library": "_multiarray_umath.cpython-311.so"})
    assert judge(model(Spent(8, 25, (line(26), power))), (python_overhead.RULE,)).insights == ()
    assert judge(model(Spent(8, 25, (line(26), item))), (python_overhead.RULE,)).insights


def test_tensors_of_parsed_numbers_belong_to_the_parsing() -> None:
    converting: Frame = ("native", "torch::utils::internal_new_from_data", {"library": "libtorch_python.so"})
    parse = Spent(6, 30, (line(31, "decode"), JSON, STRTOD))
    run = model(
        parse, Spent(3, 30, (line(32, "decode"), converting)), Spent(3, 33, (line(40, "other"), converting))
    )
    card = judge(run, (parsed_text.RULE,)).insights[0]
    assert (card.work, card.way, card.line) == ("python", "in another format", 31)
    assert "31%" in card.title  # 9 of 29 ms
    reading = "\n" * 30 + "settings = json.loads(open(path).read())\n"
    assert judge(written(model(parse), reading), (parsed_text.RULE,)).insights[0].way == "once"


@pytest.mark.parametrize(
    ("facts_of_line", "way"),
    [
        ({"seen": 4, "distinct": 4, "large": True}, "in another format"),
        ({"seen": 4, "distinct": 4, "large": True, "text": True}, "elsewhere"),
        ({"seen": 4, "distinct": 1, "large": True}, "once"),
        ({"seen": 2, "distinct": 2, "large": True}, "once"),  # too few to tell
    ],
)
def test_numbers_that_change_are_no_constant(facts_of_line: dict[str, Any], way: str) -> None:
    converting: Frame = ("native", "torch::utils::internal_new_from_data", {"library": "libtorch_python.so"})
    known = mark("values", [START], 0, FILE, number=31, extra=json.dumps({"visits": [1], **facts_of_line}))
    run = model(Spent(6, 30, (line(31), converting)), marks=known)
    assert [card.way for card in judge(run, (constant_rebuilt.RULE,)).insights] == [way]


def epochs(complete: int) -> Table:
    extra = [{"loader": 7, "batches": 8, "complete": n < complete} for n in range(complete + 1)]
    rows = [
        mark("epoch", [START + n * 9 * MS], 8 * MS, "dataloader", extra=json.dumps(e))
        for n, e in enumerate(extra)
    ]
    return build.concat("marks", rows)


FETCH: Frame = ("python", "fetch", {"file": "/x/site-packages/torch/utils/data/_utils/fetch.py", "line": 3})
DECODE = "class Data:\n    def __getitem__(self, i):\n        return zlib.decompress(self.packed[i])\n"
CROPS = "class Data:\n    def __getitem__(self, i):\n        return self.images[i][random.randrange(8):]\n"


@pytest.mark.parametrize(
    ("text", "complete", "more", "way"),
    [
        (DECODE, 3, (), "once"),
        (DECODE, 1, (), "elsewhere"),  # nothing came again yet
        (CROPS, 3, (), "elsewhere"),
        ("", 3, (), "elsewhere"),  # the text is not known
        (DECODE, 3, (op("aten::bernoulli_"), LOOP), "elsewhere"),
    ],
)
def test_samples_that_come_out_the_same_can_be_kept(
    text: str, complete: int, more: tuple[Frame, ...], way: str
) -> None:
    fetched = batch(12, FETCH, line(3, "Data.__getitem__"), *more, state="running")
    says = {"loaders": [{"num_workers": 0}]}
    run = made(MODEL, BACKWARD, UPDATE, fetched, says=says, marks=epochs(complete))
    for rule in (costly_kind.RULE, synchronous_loader.RULE):
        report = judge(written(run, text) if text else run, (rule,))
        assert report.failed == {}
        assert [card.way for card in report.insights] == [way], report.not_judged
