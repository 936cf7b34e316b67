"""Edits of bytes: flips, cuts, copies, splices, and words that readers stumble over.

Everything comes from one `random.Random`, so a seed gives the same input again.
"""

from __future__ import annotations

import random
import re

NUMBERS = (
    *(
        b"0",
        b"-1",
        b"-0",
        b"1e400",
        b"-1e400",
        b"nan",
        b"NaN",
        b"inf",
        b"-Infinity",
        b"1e-400",
        b"0.1e1",
        b"1_0",
    ),
    *(b"2147483647", b"2147483648", b"-2147483649", b"9223372036854775807", b"9223372036854775808"),
    *(
        b"-9223372036854775809",
        b"18446744073709551616",
        b"9" * 40,
        b"9" * 400,
        b"9" * 5000,
        b"0x10",
        b"1e308",
    ),
    *(b"true", b"null", b'"x"', b"[]", b"{}", b"[[1]]", b"''", b"\xd9\xa3"),
)
TOKENS = (
    *(
        b'"',
        b"'",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b";",
        b"(",
        b")",
        b" ",
        b"\t",
        b"\r",
        b"\n",
        b"\r\n\r\n",
    ),
    *(b"\\", b"\\u12", b'"\\ud800"', b'"\\udc00\\ud800"', b"\x00", b"\x1f\x8b", b"\xff\xfe", b"\xef\xbb\xbf"),
    *(
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\x1b[2J",
        b"[" * 3000,
        b'{"a":' * 3000,
        b"../../x",
        b"%s%n",
        b"#",
    ),
    *(
        b'"ph":"X"',
        b'"args":{',
        b'"traceEvents":[',
        b"PAR1",
        b"PK\x03\x04",
        b"SLG1",
        b"_verbose,",
        b"MKL_VERBOSE ",
    ),
)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def mutate(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """One to five edits of `data`; `others` lend their parts."""
    for _ in range(rng.randint(1, 5)):
        if not data:
            return data
        data = rng.choice(_EDITS)(data, rng, others)
    return data


def _place(data: bytes, rng: random.Random, longest: int = 300) -> tuple[int, int]:
    at = rng.randrange(len(data))
    return at, min(len(data), at + rng.randint(1, longest))


def _byte(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    at, _ = _place(data, rng)
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _flip(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    at, _ = _place(data, rng)
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def _word(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """Fixed-width integers of binary formats at their limits."""
    at, _ = _place(data, rng)
    word = rng.choice((0, 1, 0x7F, 0x80, 0xFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 2**63, 2**64 - 1))
    width = rng.choice((1, 2, 4, 8))
    return data[:at] + (word & (256**width - 1)).to_bytes(width, "little") + data[at + width :]


def _token(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    at, end = _place(data, rng, 4)
    return data[:at] + rng.choice(TOKENS) + data[rng.choice((at, end)) :]


def _number(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    at, _ = _place(data, rng)
    found = _NUMBER.search(data, at) or _NUMBER.search(data)
    if found is None:
        return _token(data, rng, others)
    return data[: found.start()] + rng.choice(NUMBERS) + data[found.end() :]


def _cut(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    at, end = _place(data, rng)
    return data[:at] + data[end:]


def _copy(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    at, end = _place(data, rng)
    return data[:at] + data[at:end] * rng.randint(2, 20) + data[end:]


def _line(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """Swap, drop or repeat whole lines."""
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i] = rng.choice((lines[j], b"", lines[i] + lines[j], lines[i] + b"\n" + lines[i]))
    return b"\n".join(lines)


def _splice(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    at, end = _place(data, rng)
    other = rng.choice(others)
    cut = rng.randrange(len(other) + 1)
    return data[:at] + other[cut : cut + 2000] + data[end:]


def _truncate(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    return data[: _place(data, rng)[0]]


_EDITS = (_byte, _flip, _word, _token, _number, _number, _cut, _copy, _line, _splice, _truncate)
