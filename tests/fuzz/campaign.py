"""Mutated inputs for every reader: each ends in a recording, a recording with losses, or one line about the input.

usage: python -m tests.fuzz.campaign [--count N] [--seconds S] [--seed N] [--reader NAME]... [--results FILE]

Each reader runs in a process of its own with a memory limit, forked from a server that has never used DuckDB: its
threads do not survive a fork, but their locks do. Another exception, a crash, an input that takes SECONDS_EACH
of CPU time or more, memory beyond the limit, or a file opened for writing elsewhere is a finding: it is left in
build/fuzz/READER-SEED, and the campaign goes on. `--replay FILE` reads one such input again.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

from sonde.errors import InputError, SondeError, expected
from tests.fuzz.readers import READERS, Reader

SECONDS_EACH = 10  # of CPU time: the machine may be busy
SECONDS_STUCK = 180  # of any time: it waits for something that never comes
MEMORY_BYTES = 3 << 30
KEPT = Path("build/fuzz")
OUTCOMES = ("clean", "with losses", "refused")


@dataclass
class Result:
    """What became of the inputs of one reader."""

    reader: str
    inputs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    seconds: float = 0.0
    peak_mb: int = 0


def input_of(reader: Reader, corpus: list[bytes], seed: int, number: int) -> bytes:
    """The input that a seed and a number stand for, again and again."""
    rng = random.Random(f"{reader.name}-{seed}-{number}")
    return reader.make(rng.choice(corpus), rng, corpus)


def outcome(reader: Reader, data: bytes, folder: Path) -> str:
    """How reading ended; an exception when it ended as it must not."""
    try:
        return reader.read(data, folder)
    except SondeError:
        return "refused"
    except Exception as error:
        if isinstance(expected(error), InputError) and not isinstance(error, OSError):
            return "refused"
        raise


def run(reader: Reader, seed: int, count: int, seconds: float) -> Result:
    """Up to `count` inputs, for at most `seconds`."""
    result = Result(reader.name)
    began = time.monotonic()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.fuzz.readers"])
    at, first = context.Value("q", 0), 0
    tally = context.Array("q", len(OUTCOMES))  # shared, so that it outlives a worker that is killed
    corpus = reader.seeds()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    while first < count and time.monotonic() - began < seconds:
        folder = Path(tempfile.mkdtemp(prefix="sonde-fuzz-", dir=memory))
        mine, theirs = context.Pipe(duplex=False)
        left = seconds - (time.monotonic() - began)
        worker = context.Process(
            target=_work, args=(reader.name, corpus, seed, first, count, left, folder, (at, tally), theirs)
        )
        worker.start()
        theirs.close()
        done = _watch(worker, at, mine)
        shutil.rmtree(folder, ignore_errors=True)  # here, where also what was killed is cleaned up after
        if done is not None:
            _add(result, done)
            result.inputs += done["next"] - first
            first = done["next"]
            continue
        number = max(at.value, first)  # it hung or crashed here
        _keep(result, reader, corpus, seed, number, f"killed or crashed (exit code {worker.exitcode})")
        result.inputs += number + 1 - first
        first = number + 1
    result.outcomes.update(dict(zip(OUTCOMES, tally, strict=True)))
    result.seconds = time.monotonic() - began
    return result


def _work(
    name: str, corpus: list[bytes], seed: int, first: int, count: int, seconds: float,
    folder: Path, shared: tuple[Synchronized[int], Any], answer: Any,
) -> None:  # fmt: skip
    """In a process of its own. Ends early on a finding, so that nothing is built on a broken state."""
    reader = _named(name)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.freeze()
    tempfile.tempdir = str(folder)
    written = _watch_writes(folder)
    at, tally = shared
    finding, number, ends = "", first, time.monotonic() + seconds
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    while number < count and not finding and time.monotonic() < ends:
        at.value = number
        data = input_of(reader, corpus, seed, number)
        try:
            tally[OUTCOMES.index(outcome(reader, data, folder))] += 1
        except BaseException:
            finding = traceback.format_exc()
        if written:
            finding = f"wrote {written}"
        if number % 64 == 0:
            _empty(folder)
        number += 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    answer.send({"next": number, "finding": finding, "peak_mb": peak, "seed": seed})
    answer.close()
    os._exit(0)


def _watch(worker: Any, at: Synchronized[int], answer: Any) -> dict[str, Any] | None:
    """What the worker says at its end; None when it had to be killed or died."""
    last, since, cpu = at.value, time.monotonic(), _cpu_seconds(worker.pid)
    while True:
        try:
            if answer.poll(0.2):
                found: dict[str, Any] = answer.recv()
                worker.join()
                return found
        except EOFError:
            worker.join()
            return None
        if at.value != last:
            last, since, cpu = at.value, time.monotonic(), _cpu_seconds(worker.pid)
        elif _cpu_seconds(worker.pid) - cpu > SECONDS_EACH or time.monotonic() - since > SECONDS_STUCK:
            worker.kill()
            worker.join()
            return None


def _cpu_seconds(pid: int) -> float:
    """What a process has used so far; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _named(name: str) -> Reader:
    return next(r for r in READERS if r.name == name)


def _watch_writes(folder: Path) -> list[str]:
    """Files that are opened for writing outside `folder`, from now on."""
    found: list[str] = []
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and isinstance(arguments[2], int):
            inside = arguments[0].startswith((str(folder), "/dev/null"))
            if arguments[2] & writing and not inside and os.path.isabs(arguments[0]):
                found.append(arguments[0])

    sys.addaudithook(hook)
    return found


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()


def _add(result: Result, done: dict[str, Any]) -> None:
    result.peak_mb = max(result.peak_mb, done["peak_mb"])
    if done["finding"]:
        reader = _named(result.reader)
        _keep(result, reader, reader.seeds(), done["seed"], done["next"] - 1, done["finding"])


def _keep(result: Result, reader: Reader, corpus: list[bytes], seed: int, number: int, why: str) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{reader.name.replace(', ', '-').replace(' ', '-')}-{seed}-{number}"
    path.write_bytes(input_of(reader, corpus, seed, number))
    result.outcomes["FINDING"] += 1
    result.findings.append(f"{path}: {why}")


def report(results: list[Result]) -> str:
    """A table for people, one row per reader."""
    rows = [
        f"{'reader':20} {'inputs':>9} {'clean':>8} {'losses':>8} {'refused':>9} {'findings':>8} {'s':>6} {'MB':>5}"
    ]
    for r in results:
        clean, losses, refused = (r.outcomes[k] for k in OUTCOMES)
        rows.append(
            f"{r.reader:20} {r.inputs:9} {clean:8} {losses:8} {refused:9} {len(r.findings):8} "
            f"{r.seconds:6.0f} {r.peak_mb:5}"
        )
    rows.append(f"{'all':20} {sum(r.inputs for r in results):9}")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10**9, help="inputs of each reader")
    parser.add_argument("--seconds", type=float, default=60, help="for each reader")
    parser.add_argument("--seed", type=int, help="another one each time unless given")
    parser.add_argument("--reader", action="append", choices=[r.name for r in READERS])
    parser.add_argument("--results", type=Path, help="also write the figures here, as JSON")
    parser.add_argument("--replay", type=Path, help="read this one input again, with its traceback")
    options = parser.parse_args()
    chosen = [r for r in READERS if not options.reader or r.name in options.reader]
    if options.replay:
        with tempfile.TemporaryDirectory() as folder:
            print(outcome(chosen[0], options.replay.read_bytes(), Path(folder)))
        return 0
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**31)
    print(f"seed {seed}", flush=True)
    results = []
    for reader in chosen:
        results.append(run(reader, seed, options.count, options.seconds))
        print("\n".join([report(results[-1:]).splitlines()[1], *results[-1].findings[:3]]), flush=True)
    print(report(results))
    if options.results:
        made = [{**vars(r), "outcomes": dict(r.outcomes)} for r in results]
        options.results.write_text(json.dumps({"seed": seed, "readers": made}, indent=1) + "\n")
    return 1 if any(r.findings for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
