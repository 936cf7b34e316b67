"""What runs inside the program imports the standard library, itself and the framework that it observes."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sonde
from sonde import rawfolder
from sonde.record.frameworks.known import FRAMEWORKS
from sonde.record.outside.environment import watched

PACKAGE = Path(sonde.__file__).parent
RECORD = PACKAGE / "record"
GUESTS = sorted(
    {
        *(RECORD / "inside").rglob("*.py"),
        *(RECORD / "frameworks").glob("*/inside.py"),
        *(RECORD / "frameworks").glob("*/inside/*.py"),
        *(PACKAGE / name for name in ("__init__.py", "rawfolder.py", "redact.py", "version.py", "errors.py")),
    }
)
OURS = ("sonde.record.inside", "sonde.rawfolder", "sonde.redact", "sonde.version", "sonde.errors")


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module == "sonde":
                yield from (f"sonde.{alias.name}" for alias in node.names)
            else:
                yield node.module or ""


def test_guests_are_found() -> None:
    assert len(GUESTS) > 25


@pytest.mark.parametrize("path", GUESTS, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_guest_imports_nothing_that_the_program_need_not_have(path: Path) -> None:
    framework = path.relative_to(PACKAGE).parts[2] if "frameworks" in path.parts else None
    own = f"sonde.record.frameworks.{framework}.inside"
    for name in _imports(path):
        if path == PACKAGE / "__init__.py" and name.startswith("sonde.integrations"):
            continue  # sonde.profile() and its like, imported when a program asks for them
        allowed = name.startswith((*OURS, own)) if name.startswith("sonde") else None
        top = name.split(".")[0]
        assert allowed or top in sys.stdlib_module_names or top == framework, f"{path.name} imports {name}"


def test_every_entry_that_the_bootstrap_is_told_exists() -> None:
    for word in watched().split():
        module, entry = word.split("=")
        package, function = entry.split(":")
        assert module
        file = PACKAGE.parent / package.replace(".", "/")
        source = (file / "__init__.py" if file.is_dir() else file.with_suffix(".py")).read_text()
        assert f"def {function}(" in source


def test_files_are_found_by_the_name_that_they_are_written_under(tmp_path: Path) -> None:
    kinds = [kind for kind in vars(rawfolder).values() if isinstance(kind, rawfolder.Kind)]
    for number, kind in enumerate(kinds):
        Path(kind.path(str(tmp_path), 100 + number, number)).touch()
    for number, kind in enumerate(kinds):
        (file,) = kind.find(tmp_path)
        assert file.pid == 100 + number
        assert file.number == (number if "N" in kind.pattern else 0)


def test_a_file_with_a_strange_name_is_left_alone(tmp_path: Path) -> None:
    for name in (
        "x.marks.jsonl",
        ".marks.jsonl",
        "12.marks.jsonl.bak",
        "٣.marks.jsonl",
        "1" * 60 + ".marks.jsonl",
    ):
        (tmp_path / name).touch()
    assert rawfolder.MARKS.find(tmp_path) == []
    (tmp_path / "12.marks.jsonl").touch()
    (tmp_path / "12.marks-3.jsonl").touch()
    assert [(f.pid, f.number) for f in rawfolder.MARKS.find(tmp_path)] == [(12, 3), (12, 0)]


def test_each_framework_names_files_of_its_own() -> None:
    named = [kind for framework in FRAMEWORKS for kind in framework.files]
    assert len(named) == len(set(named))
