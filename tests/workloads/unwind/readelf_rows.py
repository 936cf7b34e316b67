"""Compares the agent's rows with readelf's, for every row of every entry of a library.

Usage: python -m tests.workloads.unwind.readelf_rows HARNESS.so LIBRARY…   (the libraries must be loadable)
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from tests.workloads.unwind import harness as harness_module

REGISTERS = [
    "rax",
    "rdx",
    "rcx",
    "rbx",
    "rsi",
    "rdi",
    "rbp",
    "rsp",
    "r8",
    "r9",
    "r10",
    "r11",
    "r12",
    "r13",
    "r14",
    "r15",
    "ra",
]
SAME, UNDEFINED, AT_CFA, CFA_PLUS, IN_REGISTER, AT_EXPRESSION, IS_EXPRESSION = range(7)
CFA_REGISTER, CFA_EXPRESSION = 1, 2


@dataclass(frozen=True)
class ExpectedRow:
    """One line of readelf's table: covers [low, high)."""

    low: int
    high: int
    cfa: str
    rules: dict[str, str]


def expected_rows(library: str) -> Iterator[ExpectedRow]:
    """Rows as `readelf --debug-dump=frames-interp` prints them; entries without a table have no row."""
    process = subprocess.Popen(
        ["readelf", "--debug-dump=frames-interp", library],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    columns: list[str] = []
    end = 0
    pending: tuple[int, str, dict[str, str]] | None = None
    with process:
        for line in process.stdout:
            words = line.split()
            if " FDE " in line:
                if pending:
                    yield ExpectedRow(pending[0], end, pending[1], pending[2])
                pending = None
                end = int(line.rsplit("..", 1)[1], 16)
                columns = []
            elif " CIE " in line:
                if pending:
                    yield ExpectedRow(pending[0], end, pending[1], pending[2])
                pending, columns, end = None, [], 0
            elif words[:2] == ["LOC", "CFA"]:
                columns = words[2:]
            elif columns and end and re.match(r"[0-9a-f]{16} ", line):
                words = re.sub(r"r\d+ \((\w+)\)", r"\1", line).split()  # "r5 (rdi)": in a register
                low = int(words[0], 16)
                if pending and low > pending[0]:
                    yield ExpectedRow(pending[0], low, pending[1], pending[2])
                pending = (low, words[1], dict(zip(columns, words[2:], strict=True)))
        if pending:
            yield ExpectedRow(pending[0], end, pending[1], pending[2])


def difference(row: ExpectedRow, seen: ctypes.Array[ctypes.c_int64]) -> str | None:
    """None when the agent's numbers say the same as readelf's line."""
    if seen[0] != 0:
        return f"lookup {seen[0]}"
    if row.cfa == "exp":
        if seen[1] != CFA_EXPRESSION:
            return "cfa is no expression"
    else:
        match = re.fullmatch(r"(r\w+)([+-]\d+)", row.cfa)
        assert match, row.cfa
        if (seen[1], REGISTERS[seen[2]], seen[3]) != (CFA_REGISTER, match[1], int(match[2])):
            return f"cfa {seen[1]} {REGISTERS[seen[2]]} {seen[3]}"
    for index, name in enumerate(REGISTERS):
        kind, value = seen[4 + 2 * index], seen[5 + 2 * index]
        rule = row.rules.get(name)
        if rule is None:
            right = kind == (AT_CFA if name == "ra" else SAME)
        elif rule == "u":
            right = kind == UNDEFINED or (kind == SAME and name != "ra")
        elif rule == "s":
            right = kind == SAME
        elif rule == "exp":
            right = kind == AT_EXPRESSION
        elif rule == "vexp":
            right = kind == IS_EXPRESSION
        elif rule[0] in "cv":
            right = (kind, value) == (AT_CFA if rule[0] == "c" else CFA_PLUS, int(rule[1:]))
        else:
            right = kind == IN_REGISTER and REGISTERS[value] == rule
        if not right:
            return f"{name} {kind} {value}"
    return None


def compare(harness: ctypes.CDLL, library: str, every: int = 1) -> tuple[int, list[str]]:
    """(rows compared, differences) over each `every`-th row, at its first and last byte."""
    bias = harness_module.load_bias(library)
    seen = (ctypes.c_int64 * 38)()
    rows = 0
    wrong: list[str] = []
    for number, row in enumerate(expected_rows(library)):
        if number % every or row.low >= row.high:
            continue
        rows += 1
        for pc in (row.low, row.high - 1):
            harness.sonde_test_row(pc + bias, seen)
            said = difference(row, seen)
            if said:
                wrong.append(f"{pc:#x}: readelf {row.cfa} {row.rules}, agent {said}")
    return rows, wrong


def main(arguments: list[str]) -> int:
    harness = harness_module.load(arguments[0])  # type: ignore[arg-type]
    bad = 0
    for library in arguments[1:]:
        ctypes.CDLL(library)
        rows, wrong = compare(harness, library)
        print(f"{library}: {rows} rows, {len(wrong)} differences", *wrong[:5], sep="\n  ", flush=True)
        bad += len(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
