"""Replace an attribute of the framework by a wrapper, once, and leave the rest as it was; and all of it back.

What was replaced is kept, so that a guest that leaves before the program ends (`sonde attach`) leaves nothing behind.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_ABSENT = object()
_replaced: list[tuple[Any, str, Any, Any]] = []  # owner, name, what it had of its own, what it got


def wrap(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> bool:
    """Put `make(original)` in the place of `owner.name`; False when there is no such attribute."""
    original = getattr(owner, name, None)
    if original is None:
        return False
    replace(owner, name, functools.wraps(original)(make(original)))
    return True


def replace(owner: Any, name: str, value: Any) -> None:
    """Put `value` in the place of `owner.name`."""
    _replaced.append((owner, name, vars(owner).get(name, _ABSENT), value))
    setattr(owner, name, value)


def put_back() -> list[str]:
    """Everything as it was, last first. Returns what is left because somebody else has replaced it since."""
    left = []
    while _replaced:
        owner, name, before, value = _replaced.pop()
        if vars(owner).get(name) is not value:
            left.append(name)
        elif before is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, before)
    return left
