"""Is this the only package here that calls itself `sonde`?

Sonde is `sonde-profiler` on PyPI. The project called `sonde` there (it probes the rate limits of web APIs) installs
a package and a command of the same names, so in one environment each overwrites `sonde/__init__.py` and
`bin/sonde` of the other: the one installed last works, the other breaks.
"""

from __future__ import annotations

from importlib.metadata import distributions

from sonde.machine.problem import Problem

REPAIR = "pip uninstall sonde, then pip install --force-reinstall --no-deps sonde-profiler"


def other_version(path: list[str] | None = None) -> str | None:
    """The version of the distribution `sonde` in this environment (or on `path`), if there is one."""
    found = distributions(name="sonde") if path is None else distributions(name="sonde", path=path)
    return next((d.version for d in found), None)


def find(path: list[str] | None = None) -> list[Problem]:
    """A problem when both are installed."""
    version = other_version(path)
    if version is None:
        return []
    return [
        Problem(
            "error",
            f"the distribution sonde {version} is installed beside sonde-profiler",
            "Both own the package and the command `sonde`; the one installed last has overwritten files of the other.",
            REPAIR,
        )
    ]


def end_of_the_other_command() -> None:
    """What the command of the other project does where its files are mixed with ours."""
    version = other_version() or "of another project"
    raise SystemExit(f"sonde: the distribution sonde {version} was installed over sonde-profiler → {REPAIR}")
