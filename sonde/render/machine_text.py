"""`sonde check` for people: the machine in a dozen lines, then what is wrong with it."""

from __future__ import annotations

from sonde.machine.dispatch import Answer
from sonde.machine.facts import Facts
from sonde.machine.problem import Problem
from sonde.machine.roofs import MeasuredRoofs, Rate
from sonde.machine.tree import to_cpu_list

_MARK = {"error": "✗", "warning": "!", "info": "·"}


def facts_lines(facts: Facts) -> list[tuple[str, str]]:
    """Label and value, in the order people ask."""
    topo, limits, sysinfo = facts.topology, facts.cgroup, facts.system
    where = "virtual machine" if facts.processor.virtual else "bare metal" if facts.processor.flags else ""
    lines = [
        ("processor", _join(facts.processor.model or "unknown", facts.architecture, where)),
        ("vector units", _join(facts.isa.level or "unknown", " ".join(facts.isa.usable))),
        ("effective CPUs", _effective(facts)),
        ("cores", _cores(facts)),
        ("memory nodes", str(topo.numa_nodes or "unknown")),
        ("caches", _caches(facts)),
        ("memory", _join(_gib(facts.memory_limit_bytes), "limited" if limits.memory_bytes else "")),
        ("huge pages", sysinfo.huge_pages or "unknown"),
        ("governor", ", ".join(sysinfo.governors) or "unknown"),
        ("steal", "unknown" if sysinfo.steal_share is None else f"{sysinfo.steal_share:.1%} since boot"),
        ("may", _permissions(facts)),
        ("GPUs", ", ".join(g.name for g in facts.gpus) or "none"),
        ("Python", facts.python),
    ]
    if facts.torch:
        torch = facts.torch
        gpu = f"CUDA {torch.cuda}" if torch.cuda else f"ROCm {torch.hip}" if torch.hip else "CPU only"
        runtimes = ", ".join(facts.libraries.openmp) if facts.libraries else ""
        lines += [
            (
                "torch",
                _join(torch.version, f"{torch.threads} threads", gpu, f"BLAS {torch.blas or 'unknown'}"),
            ),
            ("  ATen runs as", torch.aten_capability),
            ("  oneDNN runs as", _join(torch.onednn_isa or "unknown", torch.onednn_version or "")),
            ("  MKL says", torch.mkl_line or "not used"),
            ("  OpenMP", runtimes or "none"),
        ]
    return lines


def render(facts: Facts, problems: list[Problem], roofs: MeasuredRoofs | None = None) -> str:
    """The whole answer as plain text."""
    lines = facts_lines(facts)
    width = max(len(label) for label, _ in lines)
    text = [f"{label:{width}}  {value}" for label, value in lines]
    if roofs is not None:
        text += ["", *roof_lines(roofs)]
    if facts.unknown:
        text += ["", "not known here: " + "; ".join(f"{k} ({why})" for k, why in facts.unknown.items())]
    text.append("")
    for problem in problems:
        text.append(f"{_MARK[problem.severity]} {problem.severity}: {problem.what}")
        text.append(f"    why  {problem.why}")
        text.append(f"    fix  {problem.fix}")
    if not problems:
        text.append("nothing to complain about")
    return "\n".join(text)


def roof_lines(roofs: MeasuredRoofs) -> list[str]:
    """Peaks and bandwidths, at best and usually."""
    noisy = f"; noisy: usual rates are 1/{roofs.noise:.1f} of the best" if roofs.noise > 1.5 else ""
    text = [f"roofs measured {roofs.when} with {roofs.source} in {roofs.seconds:.0f} s{noisy}"]
    for rates, unit in ((roofs.peaks, "GFLOP/s"), (roofs.bandwidths, "GB/s")):
        text += [_rate_line(rate, unit) for rate in rates]
    return text


def why_lines(answers: list[Answer]) -> list[str]:
    """What oneDNN's dispatcher said about weak kernels."""
    if not answers:
        return ["no weak kernel that torch can be asked about"]
    text = []
    for answer in answers:
        text.append(
            f"{answer.kind} {answer.shape} ({answer.direction}): {answer.chosen or 'not created here'}"
        )
        text += [f"    {reason}" for reason in answer.reasons]
        if answer.failed:
            text.append(f"    could not be run again: {answer.failed}")
    return text


def _rate_line(rate: Rate, unit: str) -> str:
    threads = f"{rate.threads} thread{'s' if rate.threads > 1 else ''}"
    usually = f"{rate.median / 1e9:.1f} usually"
    return f"  {rate.name:10}  {threads:11}  {rate.best / 1e9:8.1f} {unit} at best, {usually}"


def _join(*parts: str) -> str:
    return " · ".join(p for p in parts if p)


def _gib(size: int | None) -> str:
    return "unknown" if size is None else f"{size / 2**30:.1f} GiB"


def _effective(facts: Facts) -> str:
    parts = [str(facts.effective_cpus or "unknown")]
    if facts.usable_cpus is not None:
        parts.append(f"CPUs {to_cpu_list(facts.usable_cpus)} of {facts.topology.online or '?'} online")
    if facts.cgroup.cpu_quota is not None:
        parts.append(f"quota {facts.cgroup.cpu_quota:g}")
    if facts.cgroup.hidden_levels:
        parts.append("a limit above the container cannot be seen")
    return _join(*parts)


def _cores(facts: Facts) -> str:
    topo = facts.topology
    if topo.physical_cores is None:
        return "unknown"
    smt = "with SMT siblings" if topo.smt else "no SMT siblings"
    return _join(f"{topo.physical_cores} physical", smt, f"{topo.packages} package(s)", *topo.hybrid)


def _caches(facts: Facts) -> str:
    kept = [c for c in facts.topology.caches if c.kind != "Instruction"]
    return ", ".join(f"L{c.level} {c.size_bytes // 1024} KiB" for c in kept) or "unknown"


def _permissions(facts: Facts) -> str:
    rights = facts.permissions
    words = {True: "yes", False: "no", None: "unknown"}
    return (
        f"perf events {words[rights.perf_events]} (kernel {words[rights.perf_kernel]}), "
        f"ptrace {rights.ptrace or 'unknown'}, BPF {words[rights.bpf]}"
    )
