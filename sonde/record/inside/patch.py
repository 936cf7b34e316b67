"""Replace an attribute of the framework by a wrapper, once, and leave the rest as it was."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def wrap(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> bool:
    """Put `make(original)` in the place of `owner.name`; False when there is no such attribute."""
    original = getattr(owner, name, None)
    if original is None:
        return False
    wrapper = functools.wraps(original)(make(original))
    setattr(owner, name, wrapper)
    return True
