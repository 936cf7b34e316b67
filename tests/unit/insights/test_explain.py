"""Every topic is whole, found by its names and by the frames that it is about."""

from __future__ import annotations

import pytest

from sonde.insights.explain import find, topics
from sonde.insights.explain.figures import figures
from tests.fixtures.synthetic import training_run


def test_there_are_many_topics_and_all_are_whole() -> None:
    found = topics()
    slugs = {t.slug for t in found}
    assert len(found) >= 60
    for topic in found:
        assert 80 <= len(topic.text) <= 1500, topic.slug
        assert set(topic.see) <= slugs, topic.slug
        assert topic.slug not in topic.see


def test_no_name_means_two_topics() -> None:
    owner: dict[str, str] = {}
    for topic in topics():
        for name in topic.names:
            assert owner.setdefault(name, topic.slug) == topic.slug, name


@pytest.mark.parametrize(
    ("question", "slug"),
    [
        ("aten::copy_", "aten-copy"),
        ("cudaLaunchKernel", "cudalaunchkernel"),
        ("Command Buffer Full", "command-buffer-full"),
        ("ProfilerStep#3", "profilerstep"),
        ("ProfilerStep*", "profilerstep"),
        ("gomp_team_barrier_wait", "openmp-barrier"),
        ("jit_avx512_core_brgemm_kernel_t", "jit-kernel"),
        ("TorchDynamo Cache Lookup", "dynamo-cache-lookup"),
        ("AOTDispatcher Runtime Wrapper", "aot-wrapper"),
        ("[op] aten::addmm", "aten-linear-addmm"),
        ("Self CPU", "self-and-total"),
        ("warmup", "warm-up"),
        ("triton_poi_fused_add_relu_1", "inductor-kernel"),
        ("AddmmBackward0", "autograd"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "nccl"),
        ("take_gil", "gil"),
        ("_single_tensor_adam", "optimizer"),
        ("page fault", "page-fault"),
    ],
)
def test_questions_find_their_topic(question: str, slug: str) -> None:
    answer = find(question)
    assert answer.topic is not None
    assert answer.topic.slug == slug


def test_a_slip_of_the_keyboard_gets_a_guess() -> None:
    answer = find("rooflin")
    assert answer.topic is None
    assert "Roofline" in answer.near


def test_figures_of_a_recording() -> None:
    topic = find("aten::addmm").topic
    assert topic is not None
    assert topic.matcher is not None
    said = "\n".join(figures(training_run(), topic.matcher))
    assert "of the CPU time" in said
    assert "recorded calls (aten::addmm" in said
