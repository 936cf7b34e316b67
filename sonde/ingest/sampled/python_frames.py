"""Python frames as the PyTorch profiler writes them: `path/file.py(12): function`.

Used for call stacks of old traces and for the python_function events of new
ones. The line is where the function starts, or the calling line in old stacks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FRAME = re.compile(r"^(?P<file>.+)\((?P<line>\d{1,9})\): (?P<function>.+)$")
# Code that users do not call their own; the nearest frame outside it is "the user's line".
_LIBRARY = re.compile(
    r"(^|/)(torch|torchvision|torch_xla|functorch|numpy|contextlib\.py|threading\.py|runpy\.py)(/|$)"
    r"|site-packages/|dist-packages/|/lib/python3\.\d+/|torchinductor_|^<|\(0\): "
)


@dataclass(frozen=True)
class Frame:
    """One frame; `file` is None for built-in functions and modules."""

    file: str | None
    line: int
    function: str


def parse(text: str) -> Frame:
    """The parts of a frame; text that is no frame is the function."""
    found = _FRAME.match(text)
    if found is None:
        return Frame(None, -1, text)
    return Frame(found["file"], int(found["line"]), found["function"])


def is_user_frame(text: str) -> bool:
    """Whether the frame is in code that is neither a library's nor the interpreter's."""
    return _FRAME.match(text) is not None and _LIBRARY.search(text) is None


def user_frame(frames_leaf_first: list[str]) -> Frame:
    """The innermost frame of the user's own code; a frame without file when there is none."""
    for text in frames_leaf_first:
        if is_user_frame(text):
            return parse(text)
    return Frame(None, -1, "")
