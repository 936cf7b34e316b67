"""`sonde show REC gpu`: prints the answer of `sonde.views.gpu`."""

from __future__ import annotations

from typing import Any

from sonde.render.text.gpu_sections import SECTIONS
from sonde.render.text.page import Column, Page
from sonde.render.text.units import count, milliseconds, percent
from sonde.views.options import ShowOptions

_PARTS = ("window", "idle", "compute", "communication", "copy", "overlap")


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    devices = data["devices"]
    if not devices:
        page.line("No GPU events were recorded.")
        return
    _times(devices, page)
    _health(devices, page)
    _late(data, page)
    chosen = _chosen(data)
    device = max((d for d in devices if d["rank"] == chosen["rank"]), key=lambda d: d["window_ms"])
    page.line()
    title = device["bound"] if len(data["ranks"]) == 1 else f"Rank {chosen['rank']}: {device['bound']}"
    page.heading(title[:1].upper() + title[1:])
    for line in device["evidence"]:
        page.line(f"  {line}")
    for section in SECTIONS:
        section(chosen, page, options)
    if len(data["ranks"]) > 1:
        page.line()
        page.line(
            f"The lists above are of rank {chosen['rank']}; --json has those of all {len(data['ranks'])}."
        )
    page.next(
        f"sonde show {options.name} ops", f"sonde show {options.name} steps", f"sonde report {options.name}"
    )


def _rank(device: dict[str, Any]) -> object:
    return "–" if device["rank"] < 0 else device["rank"]


def _times(devices: list[dict[str, Any]], page: Page) -> None:
    columns = [Column("rank", right=True), Column("device", right=True), Column("events", right=True)]
    page.table(
        columns + [Column(n, right=True) for n in (*_PARTS, "busy %")] + [Column("bound by")],
        [
            (
                _rank(d), d["device"], count(d["events"]),
                *(milliseconds(d[f"{n}_ms"]) for n in _PARTS),
                percent(d["busy_ms"] / d["window_ms"] if d["window_ms"] else 0.0),
                d["bound"].removesuffix("-bound"),
            )
            for d in devices
        ],
    )  # fmt: skip


def _health(devices: list[dict[str, Any]], page: Page) -> None:
    page.line()
    names = ("idle: host", "kernel gap", "sync", "other", "SM busy", "occupancy", "tensor cores")
    more = ("queue max", "mean", "no launch", "before launch")
    page.table(
        [Column(n, right=True) for n in ("rank", "device", *names, *more)],
        [
            (
                _rank(d), d["device"],
                *(milliseconds(d[f"idle_{k}_ms"]) for k in ("host", "kernel", "sync", "other")),
                known_percent(d["sm_efficiency"]),
                "unknown" if d["occupancy_percent"] is None else f"{d['occupancy_percent']:.1f} %",
                known_percent(d["tensor_core_share"]),
                count(d["max_queue_depth"]), f"{d['mean_queue_depth']:.1f}",
                count(d["kernels_without_launch"]), count(d["kernels_before_launch"]),
            )
            for d in devices
        ],
    )  # fmt: skip
    worst = max(d["skew_us"] for d in devices)
    early = sum(d["kernels_launched_before_trace"] for d in devices)
    if early:
        took = milliseconds(sum(d["launched_before_trace_ms"] for d in devices))
        page.line(
            f"{count(early)} of the events with no launch ({took} on the device) were launched before the trace began."
        )
    if worst:
        page.line(f"Device work starts up to {worst:.1f} µs before its launch: the two clocks are skewed.")


def _late(data: dict[str, Any], page: Page) -> None:
    if len(data["ranks"]) > 1:
        page.line()
        alignment = data["alignment"]
        if alignment["aligned"]:
            page.line(
                f"Clocks aligned by {alignment['shared_collectives']} collectives, "
                f"±{alignment['uncertainty_us']:.1f} µs."
            )
        else:
            page.line(f"Clocks are not aligned: {alignment['reason']}")
    for straggler in data["stragglers"]:
        page.line(
            f"Rank {straggler['rank']} is late, {straggler['cause']}: last to arrive at "
            f"{straggler['last_arrivals']} of {straggler['shared_collectives']} collectives, waits "
            f"{milliseconds(straggler['waiting_ms'])} where the others wait "
            f"{milliseconds(straggler['peers_waiting_ms'])}; it costs them {milliseconds(straggler['caused_ms'])}"
        )
        page.line(f"  {straggler['evidence']}")


def _chosen(data: dict[str, Any]) -> dict[str, Any]:
    """The rank to tell in full: the first late one, else the one whose devices idle most."""
    by_rank = {r["rank"]: r for r in reversed(data["ranks"])}
    late = [s["rank"] for s in data["stragglers"]]
    if late:
        return dict(by_rank[late[0]])
    idlest = max(data["devices"], key=lambda d: d["idle_ms"] / (d["window_ms"] or 1))
    return dict(by_rank[idlest["rank"]])


def known_percent(share: float | None) -> str:
    """A share, or that it is not known."""
    return "unknown" if share is None else percent(share)
