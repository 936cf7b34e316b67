"""Rules one by one on the synthetic run: a planted cause is found with the right size, its absence is not."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest

from sonde.columns import Text
from sonde.insights import rules
from sonde.insights.engine import judge
from sonde.insights.rules.kernels.noncontiguous_copies import in_order
from sonde.insights.rules.memory.memory_growth import theil_sen
from sonde.insights.subject import Subject
from sonde.store import build
from tests.fixtures.synthetic import training_run
from tests.unit.insights.planted import mark, planted, said, settings


def test_every_file_is_a_registered_rule_with_its_terms() -> None:
    found = [m.name for m in pkgutil.walk_packages(rules.__path__, "sonde.insights.rules.") if not m.ispkg]
    assert {rule.name for rule in rules.RULES} == {path.rpartition(".")[2] for path in found}
    for path in found:
        module, name = importlib.import_module(path), path.rpartition(".")[2]
        assert name == module.RULE.name
        text = module.__doc__ or ""
        assert all(word in text for word in ("Condition:", "Saving:", "Not for:")), name


@pytest.mark.parametrize(
    ("length_ns", "generation", "loud"),
    [(50_000_000, 2, True), (5_000_000, 2, False), (50_000_000, 0, False)],
    ids=["long", "short", "young"],
)
def test_pauses_of_the_collector_are_added_up(length_ns: int, generation: int, loud: bool) -> None:
    """Two pauses in 1.15 s of steady steps: 100 ms are 8.7 %, 10 ms are 0.9 %; young collections do not count."""
    steady = Subject(planted()).steady
    starts = [int(steady.starts[0]), int(steady.ends[-1]) - 60_000_000]
    paused = mark("gc", starts, length_ns, f"generation {generation}", number=generation)
    found = said(judge(planted(paused)), "gc_pauses")
    assert (found is not None) == loud
    if found is not None:
        assert found.saving is not None
        assert 0 < found.saving.low_ms < 0.087 * found.saving.of_ms < found.saving.high_ms


def test_without_pauses_the_collector_is_not_blamed() -> None:
    assert said(judge(planted()), "gc_pauses") is None


def test_a_cap_on_instructions_is_found_only_below_what_the_cpu_has() -> None:
    has = settings(cpu_flags=["avx2", "avx512f"], threads=2)
    for word, loud in (("avx2", True), ("default", True), ("avx512", False)):
        report = judge(planted(has, environment={"ATEN_CPU_CAPABILITY": word}))
        assert (said(report, "isa_capped") is not None) == loud, word
    assert "isa_capped" in judge(planted()).not_judged


def test_waits_for_workers_are_a_stall_and_batches_that_are_ready_are_not() -> None:
    subject = Subject(planted())
    starts = [s.start_ns for s in subject.report.steps]
    loader = settings(loaders=[{"num_workers": 2}])
    for wait_ns, loud in ((8_000_000, True), (500_000, False)):
        marks = build.concat("marks", [mark("phase", starts, wait_ns, "dataloader"), loader])
        assert (said(judge(planted(marks)), "loader_stall") is not None) == loud


def test_two_runtimes_of_openmp() -> None:
    two = settings(openmp=["/x/torch/lib/libgomp.so.1", "/y/libiomp5.so"])
    found = said(judge(planted(two)), "several_openmp")
    assert found is not None
    assert found.saving is None
    assert said(judge(planted(settings(openmp=["/x/libgomp.so.1"]))), "several_openmp") is None


def test_slopes_that_noise_makes_are_no_growth() -> None:
    x = np.arange(40.0)
    random = np.random.default_rng(1)
    low, middle = theil_sen(x, 5 * x + random.normal(0, 3, 40))
    assert low > 4
    assert abs(middle - 5) < 0.3
    assert theil_sen(x, random.normal(0, 3, 40))[0] <= 0


def test_order_of_elements() -> None:
    assert in_order([2, 3, 4], [12, 4, 1])
    assert in_order([2, 1, 4], [4, 99, 1])
    assert not in_order([3, 2], [1, 3])
    assert in_order([8, 4], [0, 1])  # broadcast


def test_an_optimizer_of_many_passes_is_worth_fusing_even_with_few_tensors() -> None:
    """The backward pass of the synthetic run, renamed: half of a step in kernels of an update, no dispatch to win."""
    frames = next(t for t in training_run().tables() if t.name == "frames")
    file = frames.text("file").tolist()
    name = ["_single_tensor_x" if n == "backward" else n for n in frames.text("name").tolist()]
    file = ["/x/torch/optim/x.py" if n == "_single_tensor_x" else f for f, n in zip(file, name, strict=True)]
    renamed = {"frames": frames.with_columns(name=Text.of(name), file=Text.of(file))}
    for optimizer, tensors, loud in (("Adam", 4, True), ("SGD", 4, False), ("RMSprop", 4, False)):
        has = settings(optimizers=[{"class": optimizer, "tensors": tensors}])
        found = said(judge(planted(has, renamed)), "per_tensor_optimizer")
        assert (found is not None) == loud, optimizer
        if found is not None:
            share = Subject(planted(has, renamed))
            update = share.share(share.host_with("^_single_tensor_x$"))
            assert found.saving is not None
            assert found.saving.low_ms <= 0.6 * update.middle * found.saving.of_ms <= found.saving.high_ms
            assert "fused=True" in found.fix
