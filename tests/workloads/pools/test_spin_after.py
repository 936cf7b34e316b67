"""A worker that spins after a region stands under the line that opened it, and is never called its work."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sonde.analyze.recording.quality import quality
from sonde.analyze.samples.labels import frame_labels
from sonde.ingest.agent import assemble
from sonde.symbols.resolver import Resolver
from tests.lifecycle.recorded import run

pytestmark = pytest.mark.serial

HERE = Path(__file__).parent


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to compile with")
def test_spinning_belongs_to_the_line_of_the_last_region(tmp_path: Path) -> None:
    library = tmp_path / "gaps.so"
    subprocess.run(["gcc", "-O2", "-fopenmp", "-shared", "-fPIC", "-o", library, HERE / "gaps.c"], check=True)
    variables = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "active", "OMP_DYNAMIC": "false"}
    result = run([sys.executable, HERE / "gaps.py", library, "3"], rate_hz=1000, environment=variables)
    assert result.code == 0, result.errors
    tables = assemble([result.main()], Resolver(tmp_path))
    samples, stacks, threads = tables["samples"], tables["stacks"], tables["threads"]
    labels = frame_labels(tables["frames"])
    parent, frame = stacks.array("parent"), stacks.array("frame")
    main = int(threads.array("thread")[threads.text("kind").equals("main")][0])
    walked = ~samples.text("walk").equals("residual")
    spinning = samples.text("state").equals("spinning") & walked & (samples.array("thread") != main)
    weight = {"first": 0, "second": 0}
    orphans = 0
    for row in np.flatnonzero(spinning).tolist():
        names: list[str] = []
        stack = int(samples.array("stack")[row])
        while stack >= 0:
            names.append(labels[frame[stack]])
            stack = int(parent[stack])
        if samples.array("owner")[row] < 0:
            orphans += 1
            continue
        assert samples.array("owner")[row] == main
        boundary = names.index("[label] busy-waiting after region")
        opener = names[boundary + 1].split(" ")[0]  # the innermost Python frame of who opened it
        weight[opener] += int(samples.array("weight_ns")[row])
        assert any(name.startswith("<module> (gaps.py:") for name in names[boundary:])
        assert not any(name.startswith("[op]") for name in names)
    assert int(spinning.sum()) > 300
    assert orphans <= 0.02 * int(spinning.sum())
    share = weight["first"] / (weight["first"] + weight["second"])
    assert 0.65 < share < 0.85, weight  # 6 of 8 ms
    # It is nobody's work: no operator, and not among the samples of workers in a region.
    found = quality(tables)
    in_region = (samples.array("owner") >= 0) & ~samples.text("state").equals("spinning") & walked
    assert found.attributed["workers"].samples == int(in_region.sum())
