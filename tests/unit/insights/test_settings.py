"""Answers of a program about itself: those of the wrong type count as not given."""

from __future__ import annotations

from sonde.insights.settings import answers


def test_answers_keep_what_is_of_its_type() -> None:
    told = {
        "threads": 4,
        "quota_cpus": 2,
        "cpu_flags": ["avx2"],
        "affinity": {"main": 2, "online": "x"},
        "scheduling": {"seconds": 3, "most_moves": 7},
        "optimizers": [{"class": "Adam", "tensors": 3}],
    }
    assert answers(told) == {**told, "affinity": {"main": 2}}


def test_answers_of_another_type_are_left_out() -> None:
    told = {
        "threads": "4",
        "quota_cpus": [],
        "cpu_flags": 7,
        "affinity": [],
        "scheduling": 1,
        "optimizers": {},
        "numa_bytes": {"0": "x"},
        "environment": {"A": 1},
        "loaders": [7, {"num_workers": None, "batch_size": 2**70}],
        "unheard_of": 1,
    }
    assert answers(told) == {"loaders": [{}]}
