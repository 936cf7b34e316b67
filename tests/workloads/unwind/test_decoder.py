"""Reading ahead finds the caller of code without unwind information; checked by known code and by known tables."""

from __future__ import annotations

import ctypes
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.workloads.unwind import harness
from tests.workloads.unwind.test_rows import loaded

USUAL, DEREF = 1, 2
RSP, RBP = 7, 6
SAME, LOST = -32768, -32767
Rule = dict[str, object]


def read_ahead(library: ctypes.CDLL, code: bytes, offset: int = 0) -> Rule | None:
    """The rule at `offset` of the code: the CFA, and where rbx, rbp, r12..r15 are."""
    buffer = ctypes.create_string_buffer(code + b"\xcc" * 32)
    out = (ctypes.c_int64 * 12)()
    found = library.sonde_test_read_ahead(ctypes.c_uint64(ctypes.addressof(buffer) + offset), out)
    return {"kind": out[0], "cfa": (out[1], out[2], out[3]), "saved": list(out[6:12])} if found else None


PREAMBLE = bytes.fromhex("55 4889e5 53 4154 4155 4156 4157")
POSTAMBLE = bytes.fromhex("415f 415e 415d 415c 5b 5d c5f877 c3")
ALL_PUSHED = [-24, -16, -32, -40, -48, -56]  # rbx rbp r12 r13 r14 r15, from the CFA


def test_onednn_kernel_with_the_evex_constant_in_rbp(walk_harness: Path) -> None:
    library = harness.load(walk_harness)
    # mov ebp, 0x200; vmovups zmm0, [rdi+rbp]; vfmadd231ps zmm1, zmm0, [rsi+0x40]; vpmovm2d; jnz back
    body = bytes.fromhex("bd00020000 62f17c4810042f 62f27d48b84e01 62f27e4838c1 ffc9 75e5")
    code = PREAMBLE + body + POSTAMBLE
    inside = read_ahead(library, code, len(PREAMBLE) + 5)
    assert inside == {"kind": USUAL, "cfa": (RSP, 56, 0), "saved": ALL_PUSHED}
    # At the first instruction nothing is pushed yet, behind the last pop nothing is any more.
    assert read_ahead(library, code) == {"kind": USUAL, "cfa": (RSP, 8, 0), "saved": [SAME] * 6}
    last = read_ahead(library, code, len(code) - 1)
    assert last == {"kind": USUAL, "cfa": (RSP, 8, 0), "saved": [SAME] * 6}


def test_mkl_kernel_with_a_page_aligned_part(walk_harness: Path) -> None:
    library = harness.load(walk_harness)
    # sub rsp,0x40; mov [rsp],rbx; mov [rsp+8],rbp; mov rbp,rsp; sub rsp,rax; and rsp,-4096; mov [rsp+0x78],rbp
    head = bytes.fromhex("4883ec40 48891c24 48896c2408 4889e5 4829c4 4881e400f0ffff 48896c2478")
    # vmovups [rsp+0x200],ymm0; mov rsp,[rsp+0x78]; mov rbp,[rsp+8]; mov rbx,[rsp]; add rsp,0x40; ret
    tail = bytes.fromhex("c5fc11842400020000 488b642478 488b6c2408 488b1c24 4883c440 c3")
    inside = read_ahead(library, head + tail, len(head))
    assert inside == {"kind": DEREF, "cfa": (RSP, 0x78, 0x48), "saved": [-72, -64, SAME, SAME, SAME, SAME]}


def test_frame_that_is_left_through_rbp(walk_harness: Path) -> None:
    library = harness.load(walk_harness)
    # asmjit: … call rax; lea rsp,[rbp-8]; pop rbx; pop rbp; ret
    rule = read_ahead(library, bytes.fromhex("ffd0 488d65f8 5b 5d c3"))
    assert rule == {"kind": USUAL, "cfa": (RBP, 16, 0), "saved": [-24, -16, SAME, SAME, SAME, SAME]}


def test_it_gives_up_rather_than_guess(walk_harness: Path) -> None:
    library = harness.load(walk_harness)
    assert read_ahead(library, bytes.fromhex("ffe0")) is None  # jmp rax
    assert read_ahead(library, bytes.fromhex("0f0b")) is None  # ud2
    assert read_ahead(library, bytes.fromhex("4801c4 c3")) is None  # add rsp, rax; ret
    assert read_ahead(library, bytes.fromhex("ebfe")) is None  # jmp to itself


@pytest.mark.skipif(shutil.which("objdump") is None, reason="no objdump (binutils) to compare with")
def test_lengths_are_what_objdump_says(walk_harness: Path) -> None:
    library = harness.load(walk_harness)
    libm = loaded("libm.so") or loaded("libc.so")
    assert libm
    text = subprocess.run(["objdump", "-dw", libm], capture_output=True, text=True, check=True).stdout
    out = (ctypes.c_int64 * 6)()
    lines = re.findall(r"^ +[0-9a-f]+:\t((?:[0-9a-f]{2} )+) *\t(\S+)", text, re.M)
    assert len(lines) > 50_000  # libm has AVX2, FMA and AVX-512 variants of everything
    wrong = []
    for digits, mnemonic in lines:
        code = bytes.fromhex(digits)
        length = library.sonde_test_decode(code + bytes(15), ctypes.c_uint64(len(code) + 15), out)
        # objdump prints `fwait; fnstcw` as one instruction.
        if length != len(code) and mnemonic != "(bad)" and code[0] != 0x9B:
            wrong.append((digits, mnemonic, length))
    assert wrong == []


def test_it_finds_what_the_tables_say_where_there_are_tables(walk_harness: Path) -> None:
    library = harness.load(walk_harness)
    path = loaded("libc.so")
    assert path
    bias = harness.load_bias(path)
    text = subprocess.run(["objdump", "-dw", path], capture_output=True, text=True, check=True).stdout
    addresses = [int(a, 16) for a in re.findall(r"^ +([0-9a-f]+):\t", text, re.M)]
    by_tables, by_reading = (ctypes.c_int64 * 12)(), (ctypes.c_int64 * 12)()
    same = other = 0
    for address in random.Random(5).sample(addresses, 4000):
        library.sonde_test_rule(ctypes.c_uint64(address + bias), by_tables)
        if by_tables[0] != USUAL or by_tables[1] != RSP:
            continue
        if not library.sonde_test_read_ahead(ctypes.c_uint64(address + bias), by_reading):
            continue
        if by_reading[0] == USUAL and by_reading[1] == RSP and by_reading[2] == by_tables[2]:
            same += 1
        else:
            other += 1
    # Compiled code has calls that never return, which reading cannot know; kernels have none.
    assert same > 2000
    assert other / (same + other) < 0.04
