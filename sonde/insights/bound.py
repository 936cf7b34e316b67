"""What bounds the program, in one word with its evidence, before any advice.

Of a program on the CPU: from the samples of the thread that makes the steps (`host_layers`). Input, waiting
or overhead bind when they take at least a quarter (overhead: half, because some is always needed) of the step; else
the kernels decide. Of a device: the verdict of `sonde.analyze.verdict`, with waiting for other ranks told apart.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from sonde.insights.host_layers import host_layers
from sonde.insights.subject import Subject

LOSS_SHARE = 0.25  # as sonde.analyze.verdict
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
    math = shares["math"] + shares["memory"]
    if max(shares["input"], shares["wait"]) >= LOSS_SHARE:
        word = "input-bound" if shares["input"] >= shares["wait"] else "wait-bound"
    elif shares["overhead"] >= OVERHEAD_SHARE:
        word = "overhead-bound"
    else:
        word = "compute-bound" if shares["math"] >= 0.5 * math else "memory-bound"
    names = {
        "math": "in matrix products, convolutions and attention",
        "memory": "in other kernels",
        "overhead": "in Python, dispatch and bookkeeping",
        "input": "waiting for input",
        "wait": "waiting for something else",
    }
    parts = [f"{shares[n]:.0%} {text}" for n, text in names.items() if shares[n] >= 0.005]
    return Bound(word, shares, ("a steady step is " + ", ".join(parts),))


def _device_bound(subject: Subject) -> Bound:
    devices = subject.gpu.to_json()["devices"]
    words = Counter(d["bound"] for d in devices)
    word = max(words, key=lambda w: (words[w], w))
    chosen = next(d for d in devices if d["bound"] == word)
    evidence = list(chosen["evidence"])
    if len(devices) > 1:
        evidence.append(f"{words[word]} of {len(devices)} devices are {word}")
    return Bound(word, dict(chosen["shares"]), tuple(evidence))
