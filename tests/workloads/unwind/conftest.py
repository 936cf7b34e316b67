from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.workloads.unwind import harness


@pytest.fixture(scope="session")
def walk_harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("g++") is None:
        pytest.skip("no g++ to build the unwinder's test harness")
    return harness.build(tmp_path_factory.mktemp("walk_harness"))
