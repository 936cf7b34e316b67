"""Ask the user's own torch, in a child process, what it was built with and what it runs.

The child turns on the libraries' verbose output, so their header lines say
which instruction set oneDNN and MKL chose. This file is also the program that
the child runs: started with a path, it imports torch and prints one JSON line.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any

from sonde.machine.libraries import Libraries, from_maps
from sonde.machine.other_python import Request, printed_by, torch_answer

_MARK = "sonde-torch-probe "
_TIMEOUT_S = 120

_PROGRAM = r"""
import json, sys
try:
    import torch
except ImportError as error:
    print("\nsonde-torch-probe " + json.dumps({"error": str(error)}))
    sys.exit(0)
facts = {
    "version": torch.__version__,
    "python": sys.version.split()[0],
    "git": torch.version.git_version,
    "build": torch.__config__.show(),
    "threads": torch.get_num_threads(),
    "interop_threads": torch.get_num_interop_threads(),
    "aten_capability": torch.backends.cpu.get_cpu_capability(),
    "mkl": torch.backends.mkl.is_available(),
    "onednn": torch.backends.mkldnn.is_available(),
    "openmp": torch.backends.openmp.is_available(),
    "cuda": torch.version.cuda,
    "hip": torch.version.hip,
    "gpus": [],
    "compiler": sys.executable,
}
if torch.cuda.is_available():
    for index in range(torch.cuda.device_count()):
        p = torch.cuda.get_device_properties(index)
        facts["gpus"].append({"name": p.name, "memory_bytes": p.total_memory})
with torch.no_grad():
    a = torch.ones(32, 32)
    a @ a
    if facts["onednn"]:
        torch.relu(torch.ones(4, 4).to_mkldnn())  # small shapes go elsewhere unless told so
facts["maps"] = open("/proc/self/maps").read()
sys.stdout.flush()
print("\nsonde-torch-probe " + json.dumps(facts))
"""


@dataclass(frozen=True)
class TorchFacts:
    """What torch says, and what its libraries print about themselves."""

    version: str
    python: str
    threads: int
    interop_threads: int
    aten_capability: str
    onednn_isa: str | None
    onednn_version: str | None
    mkl_line: str | None
    blas: str | None
    cuda: str | None
    hip: str | None
    gpus: list[dict[str, Any]]
    libraries: Libraries
    build: dict[str, str] = field(default_factory=dict)


def ask(python: str | None = None, environment: dict[str, str] | None = None) -> TorchFacts:
    """Start `python` (this one by default) and ask; EnvironmentLacks when it has no torch."""
    base = dict(os.environ if environment is None else environment)
    base.update(ONEDNN_VERBOSE="1", MKL_VERBOSE="1")
    request = Request(_PROGRAM, _MARK, "torch", _TIMEOUT_S)
    output = printed_by(request, python, base)
    return parse(torch_answer(request, output, python), output)


def parse(facts: dict[str, Any], output: str) -> TorchFacts:
    """Put torch's answer and the header lines of its libraries together."""
    isa = re.search(r"_verbose,(?:v\d+,)?info,cpu,isa:(.+)", output)
    version = re.search(r"_verbose,(?:v\d+,)?info,oneDNN v(\S+)", output)
    mkl = re.search(r"^MKL_VERBOSE ((?:oneMKL|Intel\(R\) MKL) .+)$", output, re.MULTILINE)
    build = dict(re.findall(r"(\w+)=([^,]*)(?:,|$)", facts.get("build", "")))
    return TorchFacts(
        version=facts["version"],
        python=facts["python"],
        threads=facts["threads"],
        interop_threads=facts["interop_threads"],
        aten_capability=facts["aten_capability"],
        onednn_isa=isa[1].strip() if isa else None,
        onednn_version=version[1] if version else None,
        mkl_line=mkl[1].strip() if mkl else None,
        blas=build.get("BLAS_INFO"),
        cuda=facts.get("cuda"),
        hip=facts.get("hip"),
        gpus=facts.get("gpus", []),
        libraries=from_maps(facts.get("maps", "")),
        build={k: v for k, v in build.items() if k.startswith(("USE_", "BLAS", "LAPACK", "BUILD_TYPE"))},
    )
