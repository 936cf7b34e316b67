"""What bounds the program, in one word with its evidence, before any advice.

Of a program on the CPU: from the samples of the thread that makes the steps (`host_layers`). Input, waiting
or overhead bind when they take at least a quarter (overhead: half, because some is always needed) of the step; else
the kernels decide. Waiting for other threads of the pool is no arithmetic: what remains without it is judged, but
where it is most of the step, and no other program had the CPUs, the program is bound by it.
Of a device: the verdict of `sonde.analyze.device.verdict`, with waiting for other ranks told apart.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from sonde.insights.host_layers import host_layers
from sonde.insights.model import NotEnough
from sonde.insights.subject import Subject

LOSS_SHARE = 0.25  # as sonde.analyze.device.verdict
POOL_SHARE = 0.5  # ours: more of a quiet machine's step than its work
OVERHEAD_SHARE = 0.5  # ours: below, kernels still do most of the work


@dataclass(frozen=True)
class Bound:
    """The word, the shares it was taken from, and sentences for people."""

    word: str  # input-, wait-, overhead-, communication-, memory- or compute-bound
    shares: dict[str, float]
    evidence: tuple[str, ...]


def bound_of(subject: Subject) -> Bound:
    """The verdict on the recording."""
    return _device_bound(subject) if subject.has_device else _host_bound(subject)


def _host_bound(subject: Subject) -> Bound:
    shares = {name: subject.share(mask).middle for name, mask in host_layers(subject).items()}
    crowded = subject.taken.matters
    pool = shares["pool"]
    if crowded and pool < 1:  # the threads waited for are those whose CPU another program had
        shares = {name: share / (1 - pool) for name, share in shares.items() if name != "pool"} | {
            "pool": 0.0
        }
    word = _word(shares)
    names = {
        "math": "in matrix products, convolutions and attention",
        "memory": "in other kernels",
        "overhead": "in Python, dispatch and bookkeeping",
        "input": "waiting for input",
        "pool": "waiting for other threads of the pool",
        "wait": "waiting for something else",
    }
    parts = [f"{shares[n]:.0%} {text}" for n, text in names.items() if shares[n] >= 0.005]
    evidence = ["a steady step is " + ", ".join(parts)]
    if crowded and subject.each_other >= LOSS_SHARE:
        evidence[0] = "without waiting for other threads, " + evidence[0]
        evidence.append(
            f"{subject.each_other * 100:.0f} % of CPU time is OpenMP threads waiting for each other: "
            "another program holds a core"
        )
    return Bound(word, shares, tuple(evidence))


def _word(shares: dict[str, float]) -> str:
    if shares["pool"] >= POOL_SHARE:
        return "wait-bound"
    rest = max(1 - shares["pool"], 1e-9)
    shares = {name: share / rest for name, share in shares.items()}
    if max(shares["input"], shares["wait"]) >= LOSS_SHARE:
        return "input-bound" if shares["input"] >= shares["wait"] else "wait-bound"
    if shares["overhead"] >= OVERHEAD_SHARE:
        return "overhead-bound"
    return "compute-bound" if shares["math"] >= shares["memory"] else "memory-bound"


def _device_bound(subject: Subject) -> Bound:
    devices = subject.gpu.to_json()["devices"]
    if not devices:
        raise NotEnough("no device did any work")
    words = Counter(d["bound"] for d in devices)
    word = max(words, key=lambda w: (words[w], w))
    chosen = next(d for d in devices if d["bound"] == word)
    evidence = list(chosen["evidence"])
    if len(devices) > 1:
        evidence.append(f"{words[word]} of {len(devices)} devices are {word}")
    return Bound(word, dict(chosen["shares"]), tuple(evidence))
