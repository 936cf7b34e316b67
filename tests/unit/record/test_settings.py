"""What the observer of settings reads of its own process, checked against ways of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sonde.record.frameworks.torch.inside import settings


def test_mapped_libraries_are_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "OPENMP", (b"libc",))
    monkeypatch.setattr(settings, "ALLOCATORS", (b"libsuch_a_thing_is_not_here",))
    maps = Path("/proc/self/maps").read_text()
    wanted = sorted(set(re.findall(r"(/\S*/libc[^/\s]*\.so[^/\s]*)$", maps, re.MULTILINE)))
    assert wanted
    assert settings._libraries() == {"openmp": wanted, "allocator": []}


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="no /proc/cpuinfo")
def test_flags_of_the_processor_are_whole_words() -> None:
    words = Path("/proc/cpuinfo").read_text().split()
    assert all(flag in words for flag in settings._cpu_flags())


@pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage/enabled").exists(), reason="a kernel without huge pages"
)
def test_the_chosen_mode_of_huge_pages_is_the_one_in_brackets() -> None:
    assert settings._huge_pages() in ("always", "madvise", "never")
