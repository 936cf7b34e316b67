"""How objdump and readelf write what stack_usage.py looks for in x86-64 code."""

from __future__ import annotations

import re

STACK_POINTER = "rsp"  # as readelf names it in unwind rows
RETURN_BYTES = 8  # a call leaves its return address on the stack
# A call or a jump: through a pointer (*), or to a target with an offset into it.
TRANSFER = re.compile(r"\s(?:call|jmp|j[a-z]+)\s+(\*?)([^<\n]*)(?:<([^>+]+)(\+0x[0-9a-f]+)?>)?")
TABLE_JUMPS = ("jmp", "notrack")  # that go through a pointer: a jump table of the function itself
