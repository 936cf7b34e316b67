"""The command line: one file per command. Its entry point is `sonde.cli.main:main`."""

from __future__ import annotations


def __getattr__(name: str) -> object:
    """`from sonde.cli import main`, which nothing here says, is the command of another project called sonde.

    It was installed over this one, and this folder hides its `cli.py`. One sentence instead of a traceback.
    """
    if name == "main":
        from sonde.machine.installation import end_of_the_other_command

        return end_of_the_other_command
    raise AttributeError(f"module 'sonde.cli' has no attribute {name!r}")
