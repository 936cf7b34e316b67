"""Who can be told of each minute of a watch, in one table. Adding one is one file and one line here.

A sink is asked for by `--push KIND=ADDRESS`. Addresses are on this machine: from there a collector, an agent or a
tunnel of the user's own takes them further. Sonde itself sends nothing over a network.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sonde.errors import UsageError
from sonde.push.post import Server

if TYPE_CHECKING:
    from sonde.live.watch.loop import Sink


@dataclass(frozen=True)
class Labels:
    """What every figure is labelled with, beside process and rank."""

    program: str
    host: str
    rate_hz: float


class Entry(NamedTuple):
    """`function` of `module` is called as function(address, labels) and gives a Sink."""

    module: str
    function: str
    line: str
    is_server: bool = True

    def maker(self) -> Callable[[str, Labels], Sink]:
        found: Callable[[str, Labels], Sink] = getattr(importlib.import_module(self.module), self.function)
        return found


SINKS: dict[str, Entry] = {
    "pyroscope": Entry("sonde.push.pyroscope", "Pyroscope", "http://127.0.0.1:4040: stacks, once a minute"),
    "otlp": Entry("sonde.push.otlp", "Otlp", "http://127.0.0.1:4318: OpenTelemetry profiles (experimental)"),
    "prometheus": Entry(
        "sonde.push.prometheus", "open_sink", "a port of 127.0.0.1, or a file NAME.prom", False
    ),
}


def check(wanted: list[str]) -> None:
    """UsageError: one of these is not understood, or no address of this machine. Loads nothing."""
    for text in wanted:
        kind, address = _split(text)
        if SINKS[kind].is_server:
            Server(address)


def make_sinks(wanted: list[str], labels: Labels) -> list[Sink]:
    """From `KIND=ADDRESS`, as typed."""
    pairs = [_split(text) for text in wanted]
    return [SINKS[kind].maker()(address, labels) for kind, address in pairs]


def _split(text: str) -> tuple[str, str]:
    kind, _, address = text.partition("=")
    if kind not in SINKS or not address:
        known = ", ".join(f"{name}=…" for name in SINKS)
        raise UsageError(f"--push {text!r} is not understood", f"use {known}")
    return kind, address
