"""Kernels of torch.compile: which one a line of Inductor's generated Python calls.

Inductor writes a Python file per graph, in which each line calls one fused kernel by its telling
name (`cpp_fused_add_sin_0(arg0, …)`), while the library it calls has one function named `kernel`. The
file is read when the recording is made; where it is gone, the kernel has no such name.
"""

from __future__ import annotations

import linecache
import re

# Files are named by a hash of their content: <cache>/ab/cab….py
_GENERATED = re.compile(r"/[a-z0-9]{2}/c[a-z0-9]{40,}\.py$")
_CALL = re.compile(r"^\s*(?:\w+ = )?((?:cpp|triton)_\w+)(?:\.run)?\(")
_EXTERNAL = re.compile(r"^\s*(?:\w+ = )?extern_kernels\.(\w+)\(")


def called_kernel(file: str, line: int) -> str | None:
    """The kernel's name, None for all other code."""
    if line <= 0 or not _GENERATED.search(file):
        return None
    text = linecache.getline(file, line)
    found = _CALL.match(text)
    if found:
        return found[1]
    external = _EXTERNAL.match(text)
    return f"extern_kernels::{external[1]}" if external else None
