"""Sonde: a profiler that goes down through every layer of a deep-learning program.

Importing this package imports neither torch nor anything heavy.
"""

from sonde.version import __version__ as __version__

_API = ("profile", "region", "role", "step")


def __getattr__(name: str) -> object:
    """`sonde.profile`, `step`, `region`, `role` and `load`, imported when first asked for."""
    if name in _API:
        from sonde.integrations import annotate

        return getattr(annotate, name)
    if name == "load":
        from sonde.integrations.loaded import load

        return load
    raise AttributeError(f"module 'sonde' has no attribute {name!r}")


def load_ipython_extension(shell: object) -> None:
    """`%load_ext sonde` in a notebook: the cell magic `%%sonde`."""
    from sonde.integrations import jupyter

    jupyter.load_ipython_extension(shell)


def get_include() -> str:
    """The folder of sonde.h, for the compiler's -I."""
    import os

    return os.path.join(os.path.dirname(__file__), "include")


def __dir__() -> list[str]:
    return sorted([*globals(), *_API, "load"])
