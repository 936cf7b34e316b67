"""Columns survive the page's encoding to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sonde.render.html.payload import Payload
from sonde.render.html.strings import MAX_CHARACTERS, Strings, visible
from tests.unit.render.reading import decode


@given(arrays(np.int64, st.integers(0, 50), elements=st.integers(-(2**52), 2**52)))
def test_integers_come_back(values: np.ndarray) -> None:
    payload = Payload()
    payload.add("t", values=values)
    assert decode(payload.encode())["columns"]["t"]["values"].tolist() == values.tolist()


@given(arrays(np.float64, st.integers(0, 50)))
def test_floats_come_back(values: np.ndarray) -> None:
    payload = Payload()
    payload.add("t", values=values)
    np.testing.assert_array_equal(decode(payload.encode())["columns"]["t"]["values"], values)


def test_sorted_times_are_stored_as_small_differences() -> None:
    payload = Payload()
    payload.add("t", time=np.arange(10_000, dtype=np.int64) * 100 + 5_000_000_000)
    assert len(payload.encode()) < 60_000  # eight planes of plain values would be 80,000


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="rows"):
        Payload().add("t", a=np.zeros(2), b=np.zeros(3))


@given(st.text())
def test_no_unseen_character_is_left(text: str) -> None:
    shown = visible(text)
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or 0x202A <= ord(c) <= 0x202E for c in shown)
    shown.encode("utf-8")  # no half surrogate


def test_nul_and_override_are_made_visible() -> None:
    assert visible("a\0b\u202ec\ud800") == "a␀b\ufffdc\ufffd"


def test_endless_names_are_cut_and_say_so() -> None:
    shown = visible("x" * 1_000_000)
    assert len(shown) < MAX_CHARACTERS + 40
    assert shown.endswith(f"(+{1_000_000 - MAX_CHARACTERS} characters)")


def test_equal_strings_have_one_code() -> None:
    strings = Strings()
    assert [strings("a"), strings("b"), strings("a"), strings(None)] == [0, 1, 0, -1]
