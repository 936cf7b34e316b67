"""Rule 17, debug switches left on: anomaly detection, verbose logs, blocking launches, checking allocators.

Condition: the switch is on (settings or environment), and where samples can tell its cost, they see any of
    it.
Saving: anomaly detection: frames that store stacks and test for NaN; logs: frames that print them, at most with the
    making of primitives, whose description is put into words there, and with waits for the log's reader that are too
    short for a sample; otherwise only a trial can tell (no interval, low confidence).
Not for: switches that are off, and logs that Sonde itself turned on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sonde.analyze.account.kinds import CODES
from sonde.analyze.samples.stack_index import Mask
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.shares import Share
from sonde.insights.subject import Subject

LEAST_SHARE = 0.01  # ours: below, the switch is on but costs nothing that shows
ANOMALY = r"AnomalyMetadata|anomaly_mode|_gather_forward_stack|format_stack|extract_stack|StackSummary"
PRINTS = r"verbose|fprintf|printf|^_IO_|fflush|fwrite"
WORDS = r"primitive_create|create_primitive|pd_info|init_info"
OFF = ("", "0", "off", "none", "false", "warn", "error")


@dataclass(frozen=True)
class Switch:
    """A variable of the environment, the frames that show its cost, and how to turn it off."""

    variable: str
    what: str
    frames: str = ""


SWITCHES = (
    Switch("ONEDNN_VERBOSE", "oneDNN prints a line for every primitive", PRINTS),
    Switch("DNNL_VERBOSE", "oneDNN prints a line for every primitive", PRINTS),
    Switch("MKL_VERBOSE", "MKL prints a line for every call", PRINTS),
    Switch("TORCH_LOGS", "the compiler writes its logs", r"(^|\.)(emit|handle|callHandlers|_log|format)$"),
    Switch("TORCH_SHOW_CPP_STACKTRACES", "C++ stack traces are gathered", r"backtrace|get_backtrace"),
    Switch("CUDA_LAUNCH_BLOCKING", "every launch waits for its kernel"),
    Switch("NCCL_DEBUG", "NCCL writes its log"),
    Switch("PYTHONMALLOC", "Python's allocator checks every block"),
    Switch("MALLOC_CHECK_", "malloc checks every block"),
    Switch("MALLOC_PERTURB_", "malloc fills every block"),
)


def judge(subject: Subject) -> Iterator[Finding]:
    settings, environment = subject.settings, subject.environment
    if settings.get("detect_anomaly"):
        yield from _anomaly(subject)
    if "own_profiler" in subject.table("losses").text("cause").tolist():
        yield from _profiler(subject)
    if settings.get("dev_mode"):
        yield _trial(
            "Python runs in development mode",
            "unset PYTHONDEVMODE   # and no -X dev",
            "PYTHONDEVMODE",
            subject,
        )
    for switch in SWITCHES:
        value = environment.get(switch.variable, "")
        if value.strip().lower() in OFF or (switch.variable == "PYTHONMALLOC" and "debug" not in value):
            continue
        if switch.variable == "NCCL_DEBUG" and value.upper() not in ("INFO", "TRACE"):
            continue
        yield from _switch(subject, switch, value)


def _anomaly(subject: Subject) -> Iterator[Finding]:
    claim = subject.host_with(ANOMALY) | _nan_tests(subject)
    share = subject.share(claim)
    if share.low < LEAST_SHARE:
        return
    at = subject.called_at("set_detect_anomaly", "detect_anomaly")
    yield Finding(
        Insight(
            rule=RULE.name,
            title="Anomaly detection is on",
            why="It stores a Python stack for every operator and tests every gradient for NaN.",
            evidence=(
                Evidence("torch.is_anomaly_enabled() is True", "line", "", *at),
                Evidence(f"{share.middle:.1%} of the step stores stacks and tests for NaN"),
            ),
            saving=subject.saving(share, 0.9, 1.7),
            confidence="high",
            fix="torch.autograd.set_detect_anomaly(False)   # turn it on only to find a NaN",
            experiment=Experiment(
                "flag",
                code="import torch; torch.autograd.set_detect_anomaly(False); "
                "torch.autograd.set_detect_anomaly = lambda *a, **k: None",
            ),
        ),
        claim,
    )


def _profiler(subject: Subject) -> Iterator[Finding]:
    """torch's profiler that the program itself runs around its steps."""
    claim = subject.host_kinds == CODES["debugging"]
    share = subject.share(claim)
    if share.low < LEAST_SHARE:
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title="torch's own profiler runs in every step",
            why="It notes every operator, with shapes and stacks if asked, and keeps all of it in memory.",
            evidence=(
                *(
                    Evidence("the program starts torch.profiler", "line", "", file, line)
                    for file, facts in subject.source_facts.items()
                    for line in facts.calls.get("profile", ())[:3]
                ),
                Evidence(f"{share.middle:.1%} of the step is spent in the profiler"),
            ),
            saving=subject.saving(share, 0.7, 1.5),
            confidence="high",
            fix="# profile some steps only: torch.profiler.schedule(wait=100, warmup=1, active=3), or none",
            experiment=Experiment("patch"),
        ),
        claim,
    )


def _nan_tests(subject: Subject) -> Mask:
    """`isnan`/`ne`, `any` and `item` of gradients, called by the engine itself."""
    index = subject.stacks
    engine = index.on_stack(index.frames_where(r"call_function|evaluate_function", layer="^native$"))
    tests = index.frames_where(r"^aten::(isnan|any|ne|is_nonzero|item|_local_scalar_dense)$", layer="^op$")
    under_node = index.on_stack(index.frames_where(r"^\w+Backward\d*$|::apply$", layer="^(native|op)$"))
    return subject.host_mask(index.on_stack(tests, under=engine & ~under_node))


def _switch(subject: Subject, switch: Switch, value: str) -> Iterator[Finding]:
    setting = f"{switch.variable}={value}"
    fix = f"unset {switch.variable}"
    if not switch.frames:
        yield _trial(f"{setting}: {switch.what}", fix, switch.variable, subject)
        return
    claim = subject.host_with(switch.frames)
    share = subject.share(claim)
    if share.low < LEAST_SHARE:
        return
    if switch.frames == PRINTS:
        share = _with_words(subject, share, claim)
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{setting} is left on: {switch.what}",
            why="Logs that help to find a fault cost time in every step once it is found.",
            evidence=(
                Evidence(setting),
                Evidence(f"{share.middle:.1%} of the step makes and prints the log"),
            ),
            saving=subject.saving(share, 0.8, 1.2),
            confidence="high",
            fix=fix,
            experiment=Experiment("environment", environment={switch.variable: None}),
        ),
        claim,
    )


def _with_words(subject: Subject, share: Share, claim: Mask) -> Share:
    """The printing of a log, at most with the making of its words and the waits for its reader."""
    both = subject.share(claim | subject.host_with(WORDS, layer="^native$"))
    unseen = subject.host.unseen
    return Share(share.middle, share.low, min(both.high * (1 - unseen) + unseen, 1.0), share.looks)


def _trial(title: str, fix: str, variable: str, subject: Subject) -> Finding:
    return Finding(
        Insight(
            rule=RULE.name,
            title=f"{title}; only a trial can tell what it costs",
            why="Debug switches trade speed for checks.",
            evidence=(Evidence(f"{variable} is set in the environment of the program"),),
            saving=None,
            confidence="low",
            fix=fix,
            experiment=Experiment("environment", environment={variable: None}),
        )
    )


RULE = Rule("debug_left_on", 17, "settings of the program and samples", judge, breadth=-1, way="not at all")
