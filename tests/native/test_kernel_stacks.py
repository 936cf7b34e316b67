"""Kernel frames where the system permits them: at the leaf, named, under the function that entered the kernel."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sonde.analyze.samples.labels import frame_labels
from sonde.columns import Table
from sonde.ingest.agent import assemble
from sonde.symbols.kernel import KernelNames, boot_number
from sonde.symbols.resolver import Resolver
from tests.lifecycle.recorded import losses, run, weights_s

SOURCE = Path(__file__).parent / "kernel_time.c"


@pytest.fixture(scope="module")
def program() -> Iterator[Path]:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    folder = Path(tempfile.mkdtemp(prefix="sonde-kernel-"))  # not tmp_path: nobody must get in
    folder.chmod(0o755)
    subprocess.run(["gcc", "-O1", "-g", "-o", folder / "kernel_time", SOURCE], check=True)
    yield folder / "kernel_time"
    shutil.rmtree(folder)


def weighed_stacks(tables: dict[str, Table]) -> list[tuple[list[str], int]]:
    """Frames of each on-CPU sample, root first, with its weight."""
    samples = tables["samples"].take(~tables["samples"].text("state").equals("waiting"))
    labels = frame_labels(tables["frames"])
    parent, frame = tables["stacks"].array("parent"), tables["stacks"].array("frame")
    rows = []
    for stack, weight in zip(
        samples.array("stack").tolist(), samples.array("weight_ns").tolist(), strict=True
    ):
        names: list[str] = []
        while stack >= 0:
            names.append(labels[frame[stack]])
            stack = int(parent[stack])
        rows.append((names[::-1], weight))
    return rows


@pytest.mark.parametrize(("rate_hz", "seconds"), [(1000, 1.0), (100, 4.0)])
def test_kernel_functions_stand_under_who_entered_the_kernel(
    program: Path, tmp_path: Path, rate_hz: int, seconds: float
) -> None:
    result = run([program, str(seconds)], rate_hz=rate_hz)
    log = result.main()
    if not log.header.engine.endswith("+kernel"):
        pytest.skip(f"the system permits {log.header.engine} only: no samples inside the kernel")
    assert "kernel_stacks_off" not in losses(log)
    assert weights_s(log) == pytest.approx(result.cpu_s, rel=0.02)
    if KernelNames.read(boot_number()).missing:
        pytest.skip("kernel.kptr_restrict hides the kernel's names")
    assert log.footer is not None
    alone = weights_s(log) > 0.9 * (log.footer.end_ns - log.header.start_ns) / 1e9
    # A thread that loses its CPU in the kernel comes back at another moment than the one that perf was told.
    least = 0.7 if rate_hz == 1000 else 0.6 if alone else 0.25
    stacks = weighed_stacks(assemble([log], Resolver(tmp_path)))
    total = sum(weight for _, weight in stacks)
    for function, deeper in (("reads", "read"), ("faults", "fault")):
        under = [(names, weight) for names, weight in stacks if function in names]
        in_kernel = [(names, weight) for names, weight in under if names[-1].startswith("[kernel] ")]
        # Nearly all of both functions' time is the kernel's; their own instructions are a handful.
        assert sum(w for _, w in in_kernel) > least * sum(w for _, w in under) > least * 0.1 * total
        for names, _ in in_kernel:  # nothing of the kernel above user code, nothing of user code below
            first = next(i for i, name in enumerate(names) if name.startswith("[kernel] "))
            assert first > names.index(function)
            assert all(name.startswith("[kernel] ") for name in names[first:])
        entered = [w for names, w in in_kernel if any(deeper in name for name in names if "[kernel]" in name)]
        assert sum(entered) > 0.7 * sum(w for _, w in in_kernel)
    crossed = [names for names, _ in stacks if "reads" in names and any("page_fault" in n for n in names)]
    assert len(crossed) < 0.02 * len(stacks)  # the buffer's own first touch
    assert not any(names and "sonde" in names[-1] for names, _ in stacks)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become nobody")
def test_without_permission_kernel_time_stays_with_its_caller(program: Path) -> None:
    if int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) < 2:
        pytest.skip("perf_event_paranoid lets everybody see the kernel")
    log = run([program, "0.5"], rate_hz=1000, nobody=True).main()
    assert log.header.engine in ("perf+timer", "timer")
    assert not np.any(log.nodes.flags & 32)
