"""What bounds the program, in one word with its evidence, before any advice. The one verdict of terminal and page.

Of a program on the CPU: from the samples of the thread that makes the steps, within steady steps (`host_layers`); where
there are no steps, from those of the main thread over the whole run. Input, waiting (for other ranks, for something
else) or overhead bind when they take at least a quarter (overhead: half, because some is always needed); else the
kernels decide. Waiting for other threads of the pool is no arithmetic: what remains without it is judged, but where it
is most of the step, and no other program had the CPUs, the program is bound by it. Kernels other than matrix products
are memory-bound only where the bytes that they must move take at least half of their time at the measured bandwidth;
else the program is kernel-bound.
Of a device: the verdict of `sonde.analyze.device.verdict`, with waiting for other ranks told apart.
Below `FEWEST_SAMPLES` samples nothing is judged. A selected range of the report is judged by the same shares and
thresholds (web/src/calc/bound.ts; `THRESHOLDS` is written into web/src/data/answers.ts).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from sonde.analyze.roofline.tables import op_roofline
from sonde.insights.host_layers import KINDS, MATH_OP, sample_kinds
from sonde.insights.model import NotEnough
from sonde.insights.native_words import overhead_words
from sonde.insights.roof import measured_roof
from sonde.insights.subject import FEWEST_SAMPLES, Subject, too_few

LOSS_SHARE = 0.25  # as sonde.analyze.device.verdict
POOL_SHARE = 0.5  # ours: more of a quiet machine's step than its work
OVERHEAD_SHARE = 0.5  # ours: below, kernels still do most of the work
AT_ROOF = 0.5  # of the time of other kernels: from here on memory is what limits them (ours)
WAITS = {"input": "input-bound", "ranks": "communication-bound", "wait": "wait-bound"}  # first of equals
THRESHOLDS = {
    "loss": LOSS_SHARE,
    "pool": POOL_SHARE,
    "overhead": OVERHEAD_SHARE,
    "fewest_samples": FEWEST_SAMPLES,
}
WORDS = {
    "math": "in matrix products, convolutions and attention",
    "memory": "in other kernels",
    "overhead": "in Python, dispatch and bookkeeping",
    "input": "waiting for input",
    "pool": "waiting for other threads of the pool",
    "ranks": "waiting for other ranks",
    "wait": "waiting for something else",
}


@dataclass(frozen=True)
class Bound:
    """The word, the shares it was taken from, and sentences for people."""

    word: str  # input-, wait-, overhead-, communication-, copy-, kernel-, memory- or compute-bound
    shares: dict[str, float]
    evidence: tuple[str, ...]
    samples: int | None = None  # that the shares are of; None: of a device's trace
    thread: int = -1  # that was judged
    crowded: bool = False  # other programs had the CPUs: waiting for the pool is not counted


def bound_of(subject: Subject) -> Bound:
    """The verdict on the recording."""
    return _device_bound(subject) if subject.has_device else _host_bound(subject)


def sentence(bound: Bound | None, missing: str | None) -> str | None:
    """One sentence for the top of a page: the verdict, or why there is none."""
    if bound is None:
        return f"Not judged: {missing}." if missing else None
    return f"This program is {bound.word}: {bound.evidence[0]}."


def _host_bound(subject: Subject) -> Bound:
    samples, weight, thread = subject.host.samples, subject.host.weight, subject.thread
    looks = max(len(samples), int(subject.host.looks))
    what = "a steady step is" if subject.unit == "step" else "the main thread is"
    if float(subject.host.weight[subject.host.behind >= 0].sum()) >= LOSS_SHARE * float(weight.sum()):
        what = what.replace(" is", ", with the threads that it waits for, is")
    crowded = subject.taken.matters
    if looks < FEWEST_SAMPLES:
        raise NotEnough(too_few(looks))
    kinds = sample_kinds(subject.stacks, samples, crowded, subject.host.behind)
    sums = np.bincount(kinds, weight, len(KINDS))
    shares = {name: float(sums[i] / max(weight.sum(), 1.0)) for i, name in enumerate(KINDS)}
    pool = shares["pool"]
    if crowded and pool < 1:  # the threads waited for are those whose CPU another program had
        shares = {name: share / (1 - pool) for name, share in shares.items()} | {"pool": 0.0}
    word = word_of(shares)
    words = WORDS | {"overhead": f"in {overhead_words(subject)}"}
    evidence = [
        f"{what} " + ", ".join(f"{shares[n]:.0%} {text}" for n, text in words.items() if shares[n] >= 0.005)
    ]
    if crowded and what.startswith("a steady") and subject.each_other >= LOSS_SHARE:
        evidence[0] = "without waiting for other threads, " + evidence[0]
        evidence.append(
            f"{subject.each_other * 100:.0f} % of CPU time is OpenMP threads waiting for each other: "
            "another program holds a core (OMP_WAIT_POLICY=PASSIVE or one thread ends that)"
        )
    if word == "kernel-bound":
        word, told = _at_roof(subject)
        evidence.append(told)
    return Bound(word, shares, tuple(evidence), len(samples), thread, crowded)


def word_of(shares: dict[str, float]) -> str:
    """The word for the shares of `KINDS`; kernel-bound may turn out to be memory-bound."""
    if shares["pool"] >= POOL_SHARE:
        return "wait-bound"
    rest = max(1 - shares["pool"], 1e-9)
    shares = {name: share / rest for name, share in shares.items()}
    loss = max(WAITS, key=lambda name: shares[name])
    if shares[loss] >= LOSS_SHARE:
        return WAITS[loss]
    if shares["overhead"] >= OVERHEAD_SHARE:
        return "overhead-bound"
    return "compute-bound" if shares["math"] >= shares["memory"] else "kernel-bound"


def _at_roof(subject: Subject) -> tuple[str, str]:
    """Whether bytes at the measured bandwidth explain the time of the kernels that are no matrix products."""
    unknown = "whether memory limits these kernels is not known: "
    try:
        roof = measured_roof(subject)
    except NotEnough as lacking:
        return "kernel-bound", unknown + str(lacking)
    ops = subject.table("ops")
    names = ops.text("name")
    product = np.array([bool(re.search(MATH_OP, name)) for name in names.values] + [False], np.bool_)
    table = op_roofline(ops.take(~product[names.codes] & ops.text("kind").equals("op")), roof)
    spent = float(table.array("total_ms").sum())
    if not spent:
        return (
            "kernel-bound",
            unknown + "no call of them with known bytes was recorded (sonde run --window auto)",
        )
    needed, bound = table.array("roof_ms"), table.text("bound")
    share, cached = (float(needed[bound.equals(word)].sum()) / spent for word in ("memory", "cache"))
    told = (
        f"at the measured bandwidths their bytes take {share:.0%} of their time from memory, "
        f"{cached:.0%} from caches"
    )
    return ("memory-bound" if share >= AT_ROOF else "kernel-bound"), told


def _device_bound(subject: Subject) -> Bound:
    devices = subject.gpu.devices()
    if not devices:
        raise NotEnough("no device did any work")
    words = Counter(d.bound for d in devices)
    word = max(words, key=lambda w: (words[w], w))
    chosen = next(d for d in devices if d.bound == word)
    evidence = list(chosen.evidence)
    if len(devices) > 1:
        evidence.append(f"{words[word]} of {len(devices)} devices are {word}")
    return Bound(word, dict(chosen.shares), tuple(evidence))
