"""Does `sonde diff A B` with one recording per side tell the truth on a busy machine?

Usage: python -m benchmarks aa_pairs --public DIR [--pairs N] [--keep DIR] [--judge DIR]
Takes about 20 minutes for 20 pairs on two cores that others use too (a recording takes 15 to 30 s then).

Each pair records a program twice as it is (A/A) and once with 30 % of its CPU time added to each step; every
second round beside a neighbour that comes and goes. Asked of `sonde diff`: A against A (wrong when it says faster or
slower, or has a significant row) and A against the slowed one (found when it says slower). DIR holds clones
of karpathy/nanoGPT and pytorch/examples, programs that were not written here; their data are made up. Without
it only the examples of this repository are recorded. Each recording has a folder of its own, so that no other one tells
how much runs differ. --keep leaves the recordings in a folder, --judge asks again about those.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.lib.environment import write
from benchmarks.workloads import made_up

ROOT = Path(__file__).resolve().parents[2]
SLOWED = ROOT / "benchmarks" / "workloads" / "slowed.py"
NEIGHBOUR = ROOT / "benchmarks" / "workloads" / "neighbour.py"
PLANTED = 0.30


@dataclass(frozen=True)
class Program:
    name: str
    directory: Path
    words: tuple[str, ...]  # script and arguments


def programs(public: Path | None) -> list[Program]:
    """Four programs of 3 to 6 s of CPU time; two when there are no clones."""
    found = [
        Program("mlp", ROOT / "examples", ("mlp.py", "--steps", "500")),
        Program("vae", ROOT / "examples", ("vae.py", "--steps", "120")),
    ]
    if public is None:
        return found
    gpt = "--device=cpu --compile=False --dataset=shakespeare_char --eval_interval=1000 --eval_iters=1"
    gpt += (
        " --log_interval=50 --block_size=64 --batch_size=8 --n_layer=4 --n_head=4 --n_embd=128 --max_iters=80"
    )
    gpt += " --dropout=0.0 --dtype=float32 --gradient_accumulation_steps=1 --always_save_checkpoint=False"
    words = "--epochs 1 --use-optimizer --lr 0.001 --log-interval 50"
    made_up.characters(public / "nanoGPT" / "data" / "shakespeare_char")
    corpus = made_up.sentences(public / "words")
    found.append(Program("nanoGPT", public / "nanoGPT", ("train.py", *gpt.split())))
    found.append(
        Program("word_language_model", public / "examples" / "word_language_model",
                ("main.py", "--data", str(corpus), "--save", str(corpus / "model.pt"), *words.split()))
    )  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--public", type=Path, help="folder with clones of nanoGPT and pytorch/examples")
    parser.add_argument("--pairs", type=int, default=20, help="pairs in all, spread over the programs")
    parser.add_argument("--threads", default="1", help="OMP_NUM_THREADS; empty leaves it as it is")
    parser.add_argument("--keep", type=Path, help="leave the recordings here")
    parser.add_argument("--judge", type=Path, help="judge the recordings of an earlier run")
    options = parser.parse_args()
    if options.threads:
        os.environ["OMP_NUM_THREADS"] = options.threads
    if options.judge:
        report(judged(options.judge))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        record_all(programs(options.public and options.public.resolve()), options.pairs, folder.resolve())
        report(judged(folder))


def record_all(chosen: list[Program], pairs: int, folder: Path) -> None:
    planted = {program.name: PLANTED * step_ms(program) for program in chosen}
    order = random.Random(1)
    for pair in range(pairs):
        program = chosen[pair % len(chosen)]
        crowded = pair // len(chosen) % 2 == 1
        place = folder / f"{pair:02d}-{program.name}-{'crowded' if crowded else 'as-is'}"
        place.mkdir(exist_ok=True)
        sides = ["a1", "a2", "slow"]
        order.shuffle(sides)
        with neighbour(crowded):
            for side in sides:
                record(program, planted[program.name] if side == "slow" else 0.0, place / side / "r.sonde")
        print(f"recorded {place.name}, load {os.getloadavg()[0]:.1f}", flush=True)


def step_ms(program: Program) -> float:
    """CPU time of a step, of a plain run."""
    done = run(program, [sys.executable, str(SLOWED), "tell", *program.words])
    found = re.search(r"a step takes ([\d.]+) ms", done.stderr)
    assert found, done.stderr
    return float(found[1])


def record(program: Program, slow_ms: float, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    sonde = [sys.executable, "-m", "sonde", "run", "--quiet", "--force", "-o", str(path)]
    run(program, [*sonde, str(SLOWED), f"{slow_ms:.3f}" if slow_ms else "0", *program.words])


def run(program: Program, words: list[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        words, cwd=program.directory, text=True, capture_output=True, timeout=600,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@contextmanager
def neighbour(wanted: bool) -> Iterator[None]:
    """Another program that uses a core for some seconds, then not, and so on."""
    if not wanted:
        yield
        return
    other = subprocess.Popen([sys.executable, str(NEIGHBOUR)])
    try:
        yield
    finally:
        other.kill()
        other.wait()


def judged(folder: Path) -> list[dict[str, Any]]:
    """What `sonde diff` says about each pair."""
    found = []
    for place in sorted(p for p in folder.iterdir() if p.is_dir()):
        if not all((place / side / "r.sonde" / "meta.json").exists() for side in ("a1", "a2", "slow")):
            continue
        same, slow = (diff(place / "a1" / "r.sonde", place / side / "r.sonde") for side in ("a2", "slow"))
        found.append({"pair": place.name, "same": same, "slow": slow})
    return found


def diff(a: Path, b: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "sonde", "diff", str(a), str(b), "--json"], text=True, capture_output=True,
        cwd=ROOT, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    rows = [f"{r['dimension']}: {r['name']}" for r in found["rows"] if r["sure"]]
    kept = ("verdict", "ratio", "low", "high", "measure", "scatter", "wall_ratio", "reason")
    return {**{k: found.get(k) for k in kept}, "rows": rows[:8], "row_count": len(rows)}


def report(pairs: list[dict[str, Any]]) -> None:
    def told(one: dict[str, Any]) -> str:
        low, high = (f"{one[k]:.2f}" if one[k] is not None else "?" for k in ("low", "high"))
        wall = f"wall {one['wall_ratio'] or 0:.2f}"
        return f"{one['verdict']:13} {one['ratio']:.2f} ({low}-{high}), {wall}, {one['row_count']} rows"

    for p in pairs:
        print(f"{p['pair']:34} A/A  {told(p['same'])}\n{'':34} +30% {told(p['slow'])}")
    different = [p for p in pairs if p["same"]["verdict"] in ("faster", "slower")]
    rows = [p for p in pairs if p["same"]["row_count"]]
    seen = [p for p in pairs if p["slow"]["verdict"] == "slower"]
    print(
        f"{len(pairs)} pairs: A/A called different {len(different)}, with significant rows {len(rows)}; "
        f"+30 % found {len(seen)}"
    )
    if pairs:
        print(write("aa_pairs", {"planted": PLANTED, "pairs": pairs}))


if __name__ == "__main__":
    main()
