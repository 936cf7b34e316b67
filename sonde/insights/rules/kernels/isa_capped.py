"""Rule 37, instruction set capped: a variable keeps libraries from the CPU's own vector instructions.

Condition: ATEN_CPU_CAPABILITY, ONEDNN_MAX_CPU_ISA (DNNL_…) or MKL_ENABLE_INSTRUCTIONS names less than the
    CPU has, or torch reports the default capability on a CPU with AVX2.
Saving: the kernels' share of the step times (1 - P_low/P_high): for one step down half of the lanes, so 20
    to 70 %; the low end is a quarter of it, because memory-bound kernels do not gain.
Not for: caps at or above what the CPU has.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.host_layers import in_kernel
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

# Vector width in bits that each word allows.
WIDTH = {
    "default": 128, "sse41": 128, "sse4_1": 128, "sse4_2": 128, "avx": 256, "avx2": 256, "avx2_vnni": 256,
    "avx2_vnni_2": 256, "avx512": 512, "avx512_core": 512, "avx512_core_vnni": 512, "avx512_core_bf16": 512,
    "avx512_core_amx": 512, "all": 1024, "no avx": 128, "vsx": 128, "zvector": 128, "sve256": 256,
}  # fmt: skip
VARIABLES = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS")


def judge(subject: Subject) -> Iterator[Finding]:
    flags = set(subject.need_settings().get("cpu_flags") or ())
    has = 512 if "avx512f" in flags else 256 if "avx2" in flags else 128
    caps = {}
    for variable in VARIABLES:
        word = subject.environment.get(variable, "").strip().lower()
        if word and WIDTH.get(word, has) < has:
            caps[variable] = word
    if not caps:
        return
    lowest = min(WIDTH[word] for word in caps.values())
    claim = in_kernel(subject)
    share = subject.share(claim)
    lost = 1 - lowest / has
    listed = ", ".join(f"{name}={word}" for name, word in caps.items())
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{listed} keeps libraries from vector instructions that this CPU has",
            why="A cap set for an experiment or another machine halves the width of every kernel.",
            evidence=(
                Evidence(f"{listed}; the CPU offers {', '.join(sorted(flags))}"),
                Evidence(f"torch's own kernels use {subject.settings.get('cpu_capability', 'not recorded')}"),
                Evidence(f"{share.middle:.1%} of the step is in kernels that a cap slows down"),
            ),
            saving=subject.saving(share, 0.25 * lost, min(lost * 1.6, 0.95)),
            confidence="high",
            fix="\n".join(f"unset {name}" for name in caps),
            experiment=Experiment("environment", environment=dict.fromkeys(caps)),
        ),
        claim,
    )


RULE = Rule(
    "isa_capped",
    37,
    "environment, CPU flags and samples",
    judge,
    scope="cpu",
    breadth=0,
    way="in another format",
)
