"""`roofline`: how close operators and primitives come to what the machine can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sonde.analyze.roofline.bounds import Level, Roof
from sonde.analyze.roofline.tables import op_roofline, primitive_roofline
from sonde.insights.roof import roof_of
from sonde.insights.subject import Subject
from sonde.store.recording import Recording
from sonde.views.columns import Column, rows_from
from sonde.views.options import ShowOptions


@dataclass(frozen=True)
class Held:
    """Work of one kind against the roof, per distinct problem."""

    dtypes: Annotated[str | None, Column("Types", meaning="data types")]
    calls: Annotated[int, Column("Calls", "count", "calls")]
    total_ms: Annotated[float, Column("Time", "ms", "time of all calls")]
    flops: Annotated[float | None, Column("FLOPs", "FLOP", "of all calls")]
    bytes: Annotated[float | None, Column("Bytes", "bytes", "that all calls must move")]
    intensity: Annotated[float | None, Column("FLOP/B", meaning="FLOPs per byte")]
    bound: Annotated[str, Column("Bound", meaning="compute, memory, cache or unknown")]
    roof_ms: Annotated[
        float | None, Column("At the roof", "ms", "least time that the machine's limits allow")
    ]
    efficiency: Annotated[float | None, Column("Efficiency", "share", "`roof_ms` / `total_ms`")]
    gflops_s: Annotated[float | None, Column("GFLOP/s", meaning="achieved rate")]
    saving_ms: Annotated[float, Column("To gain", "ms", "what the usual efficiency would save")]


@dataclass(frozen=True)
class OpProblem:
    """One operator with one set of shapes."""

    name: Annotated[str, Column("Name", meaning="operator")]
    shapes: Annotated[str | None, Column("Shapes", meaning="of its inputs")]


@dataclass(frozen=True)
class PrimitiveProblem:
    """One oneDNN or MKL problem."""

    kind: Annotated[str, Column("Kind", meaning="convolution, matmul, …")]
    implementation: Annotated[str | None, Column("Implementation", meaning="kernel that the library chose")]
    direction: Annotated[str | None, Column("Direction", meaning="forward or backward")]
    shape: Annotated[str | None, Column("Shape", meaning="problem, as the library prints it")]


@dataclass(frozen=True)
class OpOnRoof(Held, OpProblem):
    """An operator; what it is comes first."""


@dataclass(frozen=True)
class PrimitiveOnRoof(Held, PrimitiveProblem):
    """A primitive; what it is comes first."""


@dataclass(frozen=True)
class RoofFacts:
    """The limits that the rows are compared with."""

    threads: int
    peak_flops: dict[str, float]  # by data type, FLOP/s
    levels: list[Level]  # of memory, from the smallest
    origin: str  # where they were measured


@dataclass(frozen=True)
class Roofline:
    """Rows with most to gain first; `ridge`: FLOPs per byte above which work is bound by compute."""

    roof: RoofFacts
    ridge: float | None
    ops: list[OpOnRoof]
    primitives: list[PrimitiveOnRoof]


def data(recording: Recording, options: ShowOptions) -> Roofline:
    if options.roof is None and not len(recording.table("ops")) and not len(recording.table("primitives")):
        roof, origin = Roof(1, {}), "none: there is nothing to hold against it"
    else:
        roof, origin = roof_of(Subject(recording), options.roof)
    return Roofline(
        roof=RoofFacts(roof.threads, roof.peak_flops, list(roof.levels), origin),
        ridge=roof.ridge(),
        ops=rows_from(op_roofline(recording.table("ops"), roof), OpOnRoof),
        primitives=rows_from(primitive_roofline(recording.table("primitives"), roof), PrimitiveOnRoof),
    )
