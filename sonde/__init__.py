"""Sonde: a profiler that goes down through every layer of a deep-learning program.

Importing this package imports neither torch nor anything heavy.
"""

from sonde.version import __version__ as __version__

_API = ("profile", "region", "step")


def __getattr__(name: str) -> object:
    """`sonde.profile`, `sonde.step` and `sonde.region`, imported when first asked for."""
    if name in _API:
        from sonde.integrations import annotate

        return getattr(annotate, name)
    raise AttributeError(f"module 'sonde' has no attribute {name!r}")


def get_include() -> str:
    """The folder of sonde.h, for the compiler's -I."""
    import os

    return os.path.join(os.path.dirname(__file__), "include")


def __dir__() -> list[str]:
    return sorted([*globals(), *_API])
