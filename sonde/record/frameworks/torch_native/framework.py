"""torch in C++ programs: entered by a preloaded library with `--shapes`; leaves operator calls."""

from __future__ import annotations

from sonde import rawfolder
from sonde.record.frameworks.base import Framework, Launch, Reading, SourceTables


def read(reading: Reading) -> list[SourceTables]:
    from sonde.record.frameworks.torch_native import calls

    return calls.native_calls(reading)


def environment(launch: Launch) -> dict[str, str]:
    if not launch.options.shapes:
        return {}
    from sonde.record.frameworks.torch_native.environment import observer_environment

    return observer_environment(launch)


FRAMEWORK = Framework(
    "torch_native",
    files=(rawfolder.NATIVE_CALLS, rawfolder.NATIVE_SIGNATURES, rawfolder.SHAPES_NOTE),
    read=read,
    environment=environment,
)
