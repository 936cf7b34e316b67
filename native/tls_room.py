"""What the agent's thread-local variables take; fails when a program that is attached to may have no room for them.

Enters: libsonde_agent.so as it was linked. Leaves: exit code 1 when its TLS segment is larger than MOST.

The variables are `initial-exec`: signal handlers must not allocate. When the library is loaded into a program that
already runs, they must fit into what glibc keeps at the end of each thread's block for libraries that come later, and
all such libraries of the program share it; without room dlopen fails with "cannot allocate memory in static TLS
block". Measured with glibc 2.36: 1,712 bytes are left in an empty program, 1,584 with torch, numpy, scipy and jax,
1,472 with nine more. The tunable glibc.rtld.optional_static_tls is 512 by default, and part of that: so much the agent
may take, whatever glibc changes about the rest.
What is large and not needed in a handler belongs behind a key (steps/marks.cpp), else into the thread's own memory
(threads/thread.h).

usage: tls_room.py LIBRARY
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

MOST = 512
PT_TLS = 7


def tls_bytes(library: Path) -> int:
    """Size of the TLS segment, rounded up to its alignment; 0: it has none."""
    data = library.read_bytes()
    (headers,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for at in range(headers, headers + size * count, size):
        kind, _, _, _, _, _, in_memory, align = struct.unpack_from("<IIQQQQQQ", data, at)
        if kind == PT_TLS:
            return int(-(-in_memory // align) * align)
    return 0


def main(library: str) -> int:
    taken = tls_bytes(Path(library))
    print(f"thread-local variables take {taken} bytes, {MOST} are allowed")
    if taken > MOST:
        print(
            "tls_room: too much: sonde attach would be refused by programs with many libraries",
            file=sys.stderr,
        )
    return int(taken > MOST)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
