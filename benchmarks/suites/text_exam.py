"""What Sonde's text alone tells an assistant: for each planted mistake, does the short answer name file, line and fix?

usage: python -m benchmarks text_exam [--seconds S] [--keep FOLDER] [--minutes M] [--again] [NAME …]

Each program of examples/pitfalls is recorded once. `sonde insights REC --brief`, at most 2,000 tokens, is all that is
read; neither the program nor the rule's name counts. Scored on the first finding, and on any of the findings:
    file   it names the program's file
    line   it names a line at which the mistake is made or repaired (`lines_of_the_mistake`)
    fix    its fix names the change that repairs the program (FIXES: words that such a change has to name)
A finding is whole when it tells all three. Mistakes of the environment have no line; of them only the fix is asked.
Programs that are no mistake on this machine's processor are left out, with the reason.
`--keep` keeps recordings and uses them again; `--again` records nothing.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.lib.environment import write

PITFALLS = Path(__file__).parents[2] / "examples" / "pitfalls"
ENVIRONMENT = {"isa_cap", "onednn_verbose", "oversubscribed", "pinned_to_one", "spinning", "two_openmp"}
PRIMITIVES = {"reorders", "primitive_creation"}
AT_LEAST_S = {"graph_breaks": 30.0, "recompiles": 30.0}  # these compile for a quarter of a minute first
BF16 = {"avx512_bf16", "amx_bf16"}  # flags of processors that multiply in bfloat16
DENORMALS_COST = 2.0  # times as long, for the program to have a mistake at all
# Read in the card's `fix` alone. A title may repeat the program's own words, or the name of its file.
FIXES = {
    "attention": r"scaled_dot_product_attention",
    "bf16": r"float32",
    "checkpoint": r"not in every step|less often|async_save",
    "collate": r"from_numpy|np\.stack|as arrays",
    "conv_bias": r"bias=False",
    "denormals": r"set_flush_denormal",
    "detect_anomaly": r"detect_anomaly",
    "embedding": r"sparse=True",
    "fp64": r"float32|\.float\(\)",
    "gc_pauses": r"gc\.(freeze|disable)",
    "gil_contention": r"sleep|\.wait\(|process",
    "graph_breaks": r"graph break|fullgraph|\.item",
    "inference_with_grad": r"inference_mode|no_grad",
    "isa_cap": r"ATEN_CPU_CAPABILITY|ONEDNN_MAX_CPU_ISA",
    "loader_stall": r"num_workers",
    "loop_indexing": r"at once|vectori|one call|whole tensor|index_select|gather|stack|unbind|tolist",
    "memory_growth": r"detach|\.item\(\)",
    "noncontiguous": r"contiguous",
    "onednn_verbose": r"(ONEDNN|DNNL)_VERBOSE",
    "oversubscribed": r"OMP_NUM_THREADS|set_num_threads",
    "page_faults": r"reuse|out=|MALLOC_|jemalloc|tcmalloc|THP",
    "per_tensor_optimizer": r"foreach|fused",
    "pinned_to_one": r"taskset|affinity|OMP_PROC_BIND",
    "primitive_creation": r"\bpad|bucket|PRIMITIVE_CACHE",
    "printing": r"flush|fsync|less often|every \w+ steps|step % ",
    "python_overhead": r"vectori|whole tensor|on tensors|at once|\.sum\(",
    "recompiles": r"dynamic",
    "reorders": r"channels_last",
    "serial": r"\bdim\b|\brows\b|split|side by side",
    "small_ops": r"gelu|layer_norm|torch\.compile",
    "spinning": r"OMP_WAIT_POLICY|SPINCOUNT|NUM_THREADS",
    "synchronous_loader": r"num_workers",
    "tensor_from_list": r"once|register_buffer|outside|__init__",
    "tiny_batch": r"torch\.stack|many rows|larger batch",
    "two_openmp": r"OpenMP|libgomp|libiomp|libomp",
    "worker_restart": r"persistent_workers",
    "zero_grad": r"set_to_none",
}


def not_here(name: str) -> str:
    """Why a program is no mistake on this machine, "" when it is one: then nothing can be told of it."""
    if name == "bf16":
        flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split()) & BF16
        return f"this processor multiplies in bfloat16 ({', '.join(sorted(flags))})" if flags else ""
    if name == "denormals":
        slower = denormals_cost()
        return f"denormals take {slower:.1f} times as long here" if slower < DENORMALS_COST else ""
    return ""


def denormals_cost() -> float:
    """How many times as long this processor takes to multiply denormals: best of several, in turns."""
    import torch

    took: dict[float, list[float]] = {1.0: [], 1e-39: []}
    for _ in range(20):
        for value, times in took.items():
            numbers = torch.full((1 << 16,), value)
            began = time.perf_counter()
            for _ in range(10):
                torch.mul(numbers, 0.999, out=numbers)
            times.append(time.perf_counter() - began)
    return min(took[1e-39]) / min(took[1.0])


def lines_of_the_mistake(source: str) -> set[int]:
    """Where somebody who was told the line would look: lines of

    the smallest statements that ask FIXED, and of the innermost functions around them,
    the functions and classes of the file that such a statement names,
    what uses a variable that such a statement sets, or calls such a function.
    """
    tree = ast.parse(source)
    defined = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    functions = [n for n in defined.values() if isinstance(n, ast.FunctionDef)]
    used, found = set(), set()
    for asked in (n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == "FIXED"):
        statement = min(
            (n for n in ast.walk(tree) if isinstance(n, ast.stmt) and _holds(n, asked)), key=_length
        )
        around = min((f for f in functions if _holds(f, asked)), key=_length, default=None)
        found |= _lines(statement) | (_lines(around) if around else set())
        used |= {around.name} if around else set()
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id in defined:
                found |= _lines(defined[node.id])
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                used.add(node.id)
    return found | {n.lineno for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in used}


def _lines(node: ast.stmt) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _length(node: ast.stmt) -> int:
    return len(_lines(node))


def _holds(node: ast.stmt, inner: ast.Name) -> bool:
    return inner.lineno in _lines(node)


def score(name: str, answer: dict[str, Any]) -> dict[str, Any]:
    """What the first finding tells, and what any tells."""
    accepted = lines_of_the_mistake((PITFALLS / f"{name}.py").read_text(encoding="utf-8"))
    told = []
    for card in answer.get("insights", []):
        text = " ".join([card["title"], card["fix"], *card.get("evidence", [])])
        places = {int(n) for n in re.findall(rf"\b{name}\.py:(\d+)", text)}
        here = str(card.get("file", "")).endswith(f"/{name}.py")
        if here:
            places.add(int(card.get("line", -1)))
        places |= {one["line"] for one in card.get("called_at", []) if one["file"].endswith(f"/{name}.py")}
        told.append(
            {
                "file": here or bool(places),
                "line": bool(places & accepted),
                "fix": bool(re.search(FIXES[name], card["fix"].replace(f"{name}.py", ""), re.IGNORECASE)),
            }
        )
    asked = ("fix",) if name in ENVIRONMENT else ("file", "line", "fix")
    first = told[0] if told else {}
    return {
        "name": name,
        "asked": list(asked),
        "first": {what: bool(first.get(what)) for what in asked},
        "any": {what: any(one[what] for one in told) for what in asked},
        "whole": any(all(one[what] for what in asked) for one in told),
        "title": answer["insights"][0]["title"] if told else "",
        "findings": len(told),
        "taken_share": (answer.get("taken_away") or {}).get("share", 0.0),
        "characters": len(json.dumps(answer, ensure_ascii=False)),
    }


def brief(recording: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "sonde", "insights", str(recording), "--brief"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def record(name: str, target: Path, seconds: float) -> None:
    extra = ["--primitives"] if name in PRIMITIVES else []
    command = [sys.executable, "-m", "sonde", "run", "--quiet", "--force", *extra, "-o", str(target)]
    program = [str(PITFALLS / f"{name}.py"), "--seconds", str(max(seconds, AT_LEAST_S.get(name, 0.0)))]
    # One thread, unless threads are the mistake: on a busy machine a pool waits for its slowest thread.
    threads = {} if name in (*ENVIRONMENT, "serial") else {"OMP_NUM_THREADS": "1"}
    subprocess.run(
        [*command, *program], stdout=subprocess.DEVNULL, env={**os.environ, **threads}, check=False
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="programs (default: all)")
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no program after so long")
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    rows: list[dict[str, Any]] = []
    left_out = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.names or FIXES:
            target = folder / f"{name}.sonde"
            if why := not_here(name):
                left_out[name] = why
                print(f"{name}: {why}, left out", flush=True)
                continue
            if not (target / "meta.json").exists():
                if options.again or time.monotonic() > until:
                    continue
                record(name, target, options.seconds)
            rows.append(score(name, brief(target)))
            print(json.dumps(rows[-1], ensure_ascii=False), flush=True)
    total = {
        "programs": len(rows),
        "whole_first": sum(all(row["first"].values()) for row in rows),
        "whole": sum(row["whole"] for row in rows),
        "line_asked": sum("line" in row["asked"] for row in rows),
        "line_first": sum(row["first"].get("line", False) for row in rows),
        "fix_first": sum(row["first"]["fix"] for row in rows),
        "longest": max((row["characters"] for row in rows), default=0),
    }
    print(json.dumps(total))
    if not options.names:
        print(write("text_exam", {"total": total, "left_out": left_out, "rows": rows}))


if __name__ == "__main__":
    main()
