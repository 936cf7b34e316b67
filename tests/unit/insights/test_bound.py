"""The verdict: one function, thresholds shared with the page, and no judgement on too little."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sonde.insights.bound import bound_of, word_of
from sonde.insights.engine import judge
from sonde.insights.host_layers import KINDS, sample_kinds
from sonde.insights.subject import FEWEST_SAMPLES, Subject
from sonde.render.text.insights import summary_lines, verdict_sentence
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.options import ShowOptions
from tests.fixtures.synthetic import training_run

CASES = json.loads((Path(__file__).parents[2] / "data" / "bound_words.json").read_text())


@pytest.mark.parametrize("case", CASES)
def test_the_word_for_given_shares(case: dict[str, dict[str, float]]) -> None:
    assert word_of(case["shares"]) == case["word"]


def thinned(recording: Recording, count: int) -> Recording:
    """Only so many samples of the main thread."""
    tables = {t.name: t for t in recording.tables()}
    samples, threads = tables["samples"], tables["threads"]
    main = threads.array("thread")[threads.text("kind").equals("main")]
    mine = np.flatnonzero(np.isin(samples.array("thread"), main))
    tables["samples"] = samples.take(mine[:: max(len(mine) // count, 1)][:count])
    return Recording(recording.meta, tables)


def test_terminal_json_and_view_say_the_same() -> None:
    recording = training_run()
    report = judge(recording)
    answer = VIEWS["verdict"].data(recording, ShowOptions())
    assert report.bound is not None
    assert answer["word"] == report.bound.word
    assert answer["sentence"] == verdict_sentence(report)
    assert summary_lines(report)[0] == answer["sentence"].rstrip(".")
    assert answer["shares"] == report.bound.shares
    assert sum(answer["shares"].values()) == pytest.approx(1)
    assert answer["samples"] >= FEWEST_SAMPLES


@pytest.mark.parametrize("steps", [True, False])
def test_below_thirty_samples_it_says_so_instead_of_judging(steps: bool) -> None:
    few = thinned(training_run(), FEWEST_SAMPLES - 1)
    if not steps:
        tables = {t.name: t for t in few.tables()}
        tables["marks"] = tables["marks"].take(np.zeros(0, np.int64))
        few = Recording(few.meta, tables)
    answer = VIEWS["verdict"].data(few, ShowOptions())
    assert answer["word"] is None
    assert answer["sentence"].startswith("Not judged: ")
    assert str(FEWEST_SAMPLES) in answer["sentence"]
    assert verdict_sentence(judge(few)) == answer["sentence"]


def test_without_steps_the_whole_run_is_judged() -> None:
    tables = {t.name: t for t in training_run().tables()}
    tables["marks"] = tables["marks"].take(np.zeros(0, np.int64))
    found = bound_of(Subject(Recording(training_run().meta, tables)))
    assert found.evidence[0].startswith("the main thread is ")


def test_other_kernels_are_memory_bound_only_where_bytes_at_the_roof_say_so() -> None:
    recording = training_run()
    tables = {t.name: t for t in recording.tables()}
    samples, frames, stacks = tables["samples"], tables["frames"], tables["stacks"]
    # Every sample runs in a vectorised loop that is no matrix product.
    names = frames.text("name").tolist()
    layers = frames.text("layer").tolist()
    at = next(i for i, layer in enumerate(layers) if layer == "native")
    names[at] = "at::native::bernoulli_kernel"
    frames = frames.with_columns(name=type(frames.text("name")).of(names))
    stack = int(np.flatnonzero(stacks.array("frame") == frames.array("frame")[at])[0])
    alone = stacks.with_columns(parent=np.full(len(stacks), -1, stacks.array("parent").dtype))
    tables |= {
        "frames": frames,
        "stacks": alone,
        "samples": samples.with_columns(
            stack=np.full(len(samples), stack, samples.array("stack").dtype),
            state=type(samples.text("state")).full(len(samples), "running"),
        ),
    }
    subject = Subject(Recording(recording.meta, tables))
    samples = subject.table("samples")
    kinds = sample_kinds(subject.stacks, samples, crowded=False, behind=np.full(len(samples), -1))
    assert {KINDS[k] for k in np.unique(kinds).tolist()} == {"memory"}
    bare = type(recording.meta)(**{**vars(recording.meta), "machine": {}})
    found = bound_of(Subject(Recording(bare, tables)))
    assert found.word == "kernel-bound"
    assert "sonde check --roof" in found.evidence[1]

    def judged(bandwidth: float) -> str:
        rate = {"name": "memory", "threads": 1, "best": bandwidth, "median": bandwidth, "samples": 9}
        peak = {"name": "f32", "threads": 1, "best": 1e15, "median": 1e15, "samples": 9}
        roofs = {
            "format": 1, "machine": "m", "when": "w", "source": "native", "seconds": 1.0,
            "peaks": [peak], "bandwidths": [rate],
        }  # fmt: skip
        meta = type(recording.meta)(**{**vars(recording.meta), "machine": {"roofs": roofs}})
        return bound_of(Subject(Recording(meta, tables))).word

    assert judged(1e15) == "kernel-bound"  # memory that fast is never the limit
    assert judged(1e5) == "memory-bound"


def test_a_run_that_did_nothing_but_import_is_not_judged_and_says_so() -> None:
    tables = {t.name: t for t in training_run().tables()}
    tables["marks"] = tables["marks"].take(np.zeros(0, np.int64))
    frames = tables["frames"]
    text = type(frames.text("name"))
    tables["frames"] = frames.with_columns(
        layer=text.full(len(frames), "python"),
        name=text.full(len(frames), "_find_and_load"),
        file=text.full(len(frames), "<frozen importlib._bootstrap>"),
    )
    recording = Recording(training_run().meta, tables)
    answer = VIEWS["verdict"].data(recording, ShowOptions())
    assert answer["word"] is None
    assert "nothing but start" in answer["sentence"]
    assert "nothing but start" in VIEWS["account"].data(recording, ShowOptions())["missing"]
