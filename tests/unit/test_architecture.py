"""docs/architecture.md says what is: its files exist, and its layers are those of the contract."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_file_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`((?:sonde|native|tests|web)/[\w./]+)`", PAGE))
    assert len(named) > 40
    assert not [name for name in sorted(named) if "VIEW" not in name and not (ROOT / name).exists()]


def test_the_layers_of_the_page_are_those_of_the_contract() -> None:
    drawn = re.search(r"```\n(cli\n.*?)```", PAGE, re.DOTALL)
    contract = re.search(
        r"^layers = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.DOTALL | re.MULTILINE
    )
    assert drawn
    assert contract
    listed = re.findall(r'"([^"]+)"', contract[1])
    assert drawn[1].split("\n")[:-1] == [line.replace("sonde.", "").replace(".", "/") for line in listed]


def test_the_layers_have_no_exceptions() -> None:
    assert "ignore_imports" not in (ROOT / "pyproject.toml").read_text()


@pytest.mark.parametrize("folder", [p.parent.name for p in sorted((ROOT / "sonde").glob("*/__init__.py"))])
def test_every_room_is_on_the_page(folder: str) -> None:
    if folder != "examples":  # built-in programs of `sonde demo`, no code of Sonde's
        assert f"`sonde/{folder}" in PAGE


REGISTRIES = {
    "sonde.views": "VIEWS",
    "sonde.insights.rules": "RULES",
    "sonde.export": "FORMATS",
    "sonde.push": "SINKS",
    "sonde.ingest": "FORMATS",
    "sonde.cli.main": "COMMANDS",
    "sonde.experiment.tuning.knobs": "KNOBS",
    "sonde.record.frameworks.known": "FRAMEWORKS",
    "sonde.link": "CALL_PASSES",
    "sonde.machine.problems": "CHECKS",
}


@pytest.mark.parametrize("module", REGISTRIES)
def test_a_registry_has_one_of_the_two_shapes(module: str) -> None:
    found = getattr(importlib.import_module(module), REGISTRIES[module])
    assert isinstance(found, (tuple, dict))
    records = list(found.values()) if isinstance(found, dict) else list(found)
    assert records
    assert len({type(record) for record in records}) == 1
    if isinstance(found, dict):
        assert all(isinstance(name, str) for name in found)


# Each change of the page's table, made once already: a word that only this thing has, and the files that know it.
CHANGES: dict[str, tuple[str, set[str]]] = {
    "operator column": (
        r"(?<!--sort )\bself_cpu_mem_bytes\b",
        {"sonde/analyze/ops/table.py", "sonde/views/ops.py", "sonde/render/text/ops.py"},
    ),
    "framework": (
        r"\bMXNET(_TRACE)?\b|frameworks[./]mxnet",
        {"sonde/record/frameworks/mxnet", "sonde/record/frameworks/known.py", "sonde/rawfolder.py"},
    ),
    "rule": (
        r"\bnuma_remote\b",
        {"sonde/insights/rules/memory/numa_remote.py", "sonde/insights/rules/__init__.py"},
    ),
    "view for terminal and report": (
        r"views\.losses\b|\bLossRow\b",
        {"sonde/views/losses.py", "sonde/views/__init__.py", "sonde/render/text/losses.py"},
    ),
    "export format": (
        r"export\.firefox\b|\"firefox\"",
        {"sonde/export/__init__.py"},  # and the file itself
    ),
    "version of the raw log": (
        r"\bkFormatVersion\b|\b_VERSIONS\b",
        {"native/agent/log/format.h", "native/agent/background/recorder.cpp", "sonde/ingest/agent/decode.py"},
    ),
    "target, as `attach` is for process ids": (
        r"outside\.attach\.job\b|cli\.attach\b",
        {"sonde/cli/attach.py", "sonde/cli/main.py"},  # and the class itself
    ),
    "unit of `--rate`": (
        r"\"--rate\"|\bRATE_HZ\b|--rate \{",
        {"sonde/cli/recording_options.py", "sonde/record/outside/options.py"},
    ),
    "tuner knob": (r"memory interleaved", {"sonde/experiment/tuning/knobs.py"}),
    "language of the guide": (r"\bTOPICS\b", {"sonde/insights/explain/__init__.py"}),
}
MADE = "web/src/data/answers.ts"


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    """Every source file that is edited by hand."""
    kinds = [
        ("sonde", "*.py"),
        ("native", "*.cpp"),
        ("native", "*.h"),
        ("web/src", "*.ts"),
        ("web/src", "*.tsx"),
    ]
    found = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8", errors="replace")
        for folder, pattern in kinds
        for path in (ROOT / folder).rglob(pattern)
    }
    return {name: text for name, text in found.items() if name != MADE}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_touches_at_most_three_places(change: str, sources: dict[str, str]) -> None:
    """As the page says, and as the code is: a thing of this kind that exists is known in so few places."""
    row = re.search(rf"^\| {re.escape(change)} \| (.*) \|$", PAGE, re.MULTILINE)
    assert row, change
    assert 1 <= len(re.findall(r"`(?:sonde|native|web)/[\w./]+`", row[1])) <= 3
    word, places = CHANGES[change]
    found = {name for name, text in sources.items() if re.search(word, text)}
    known = {
        next((place for place in places if name == place or name.startswith(f"{place}/")), name)
        for name in found
    }
    assert known == places
    assert len(known) <= 3


def test_files_that_comments_name_exist(sources: dict[str, str]) -> None:
    named = re.compile(r"\b(?:sonde|native|tests|web|benchmarks)/[\w./-]*\w\.(?:py|cpp|h|ts|tsx|css|mjs)\b")
    gone = {
        f"{name}: {path}"
        for name, text in sources.items()
        for path in named.findall(text)
        if not any((root / path).exists() for root in (ROOT, ROOT / "native", ROOT / "native/agent"))
    }
    assert not gone


def test_no_file_has_more_than_400_lines() -> None:
    kinds = [("sonde", "py"), ("native", "cpp"), ("native", "h"), ("native", "py"), ("tests", "py")]
    kinds += [("web/src", "ts"), ("web/src", "tsx"), ("web/src", "css"), ("web/test", "ts"), ("tests", "mjs")]
    kinds += [("benchmarks", "py"), ("scripts", "py"), ("scripts", "sh")]
    found = {
        str(path.relative_to(ROOT))
        for folder, end in kinds
        for path in (ROOT / folder).rglob(f"*.{end}")
        if len(path.read_text(encoding="utf-8", errors="replace").splitlines()) > 400
    } - {MADE}
    assert not found
