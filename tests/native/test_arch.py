"""The seam between architectures: outside native/agent/arch nothing names a register or writes an instruction."""

from __future__ import annotations

import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
AGENT = ROOT / "native/agent"
OUTSIDE = sorted(
    path for path in AGENT.rglob("*") if path.suffix in (".h", ".cpp") and AGENT / "arch" not in path.parents
)
# Symbol names (`asm("name")`) and unwind directives are the same everywhere.
ONE_PROCESSORS = {
    "a register": re.compile(
        r"\bREG_[A-Z0-9]+\b|\bgregs\b|%%?[re][a-ds][xip]\b|\br[abcd]x\b|\br[sb]p\b|\brip\b"
    ),
    "an instruction": re.compile(r'\basm\s*(volatile)?\s*\(\s*(R"|"(?!\.cfi_|"))'),
    "a call that other processors lack": re.compile(
        r"\bSYS_(open|stat|lstat|poll|select|epoll_wait|pause|fork)\b"
    ),
    "a processor": re.compile(r"__x86_64__|__aarch64__|immintrin\.h|<asm/prctl\.h>"),
    "a page's size": re.compile(r"kPageBytes\s*="),
}


@pytest.mark.parametrize("what", ONE_PROCESSORS)
def test_nothing_outside_arch_names(what: str) -> None:
    found = [
        f"{path.relative_to(AGENT)}:{number}: {line.strip()}"
        for path in OUTSIDE
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if ONE_PROCESSORS[what].search(line)
    ]
    assert found == []


def test_every_file_outside_arch_compiles_for_another_processor() -> None:
    """With 32 registers, a link register and no red zone; with the cross compiler's headers where it is installed."""
    compiler = shutil.which("aarch64-linux-gnu-g++") or "g++"
    flags = ["-std=gnu++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-fno-rtti"]
    include = [f"-I{ROOT / 'native/tests/other_processor'}", f"-I{AGENT}"]

    def failure(path: Path) -> str:
        result = subprocess.run([compiler, *flags, *include, path], capture_output=True, text=True)
        return f"{path.relative_to(AGENT)}: {result.stderr[:500]}" if result.returncode else ""

    with ThreadPoolExecutor(2) as pool:
        failures = list(filter(None, pool.map(failure, (path for path in OUTSIDE if path.suffix == ".cpp"))))
    assert failures == []
