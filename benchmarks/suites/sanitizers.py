"""The agent under sanitizers: ThreadSanitizer for its parts, AddressSanitizer and UBSan for all of it inside programs.

Usage: python -m benchmarks sanitizers [--only NAME …]

Parts (native/tests) are built and run with `-fsanitize=thread` and again with `-fsanitize=address,undefined`. The whole
agent is built with the latter and goes into uninstrumented programs, which must end as they do without it. The memory
that the agent walks is the program's: what AddressSanitizer knows there are the heap's blocks and the agent's own
variables. ThreadSanitizer cannot enter a program that was not built with it. Every report counts; exits 1 when there is
one, when a program ended in another way, or when it was never sampled.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.lib.environment import write
from sonde.ingest.agent.decode import read_raw_log
from sonde.record.outside.launch import LaunchOptions, agent_environment
from tests.guests.roster import PROGRAMS as GUESTS
from tests.lifecycle.recorded import PROGRAMS, ticks

ROOT = Path(__file__).parents[2]
AGENT, PARTS, BUILD = ROOT / "native/agent", ROOT / "native/tests", ROOT / "build/sanitized"
LOG_SOURCES = (
    "common/descriptors.cpp",
    "log/writer.cpp",
    "log/interner.cpp",
    "log/loss.cpp",
    "background/stacks.cpp",
)
PART_SOURCES: dict[str, tuple[str, ...]] = {
    "ring_torture": (), "pace": (), "log_round_trip": LOG_SOURCES, "shared_outer_frames": LOG_SOURCES,
}  # fmt: skip
PART_ARGUMENTS = {"ring_torture": "300000", "log_round_trip": "1.2.slog", "shared_outer_frames": "1.2.slog"}
RATE_HZ = 1000
TIMEOUT_S = 600.0
WHOLE = "address,undefined, whole agent"
INSIDE: dict[str, list[str]] = {
    "own_signals": [], "thread_churn": ["500", "5"], "forks": ["0.3"], "small_stacks": ["16", "0.05"],
    "page_faults": ["1"], "main_leaves": [], "system_calls": ["1"], "siglongjmp": [],
    "thousand_threads.py": [], "deep_recursion.py": [], "faulthandler_enabled.py": [], "segfault.py": [],
    "multiprocessing_pool.py": ["fork"], "exec_chain.py": [], "daemon.py": [], "soak_python.py": ["5", ""],
}  # fmt: skip
# The agent's own handler for SIGSEGV stays; leaks are the programs'; a report does not end the program.
ASAN = "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:use_sigaltstack=0:halt_on_error=0"


@dataclass
class Row:
    """One program under one sanitizer."""

    name: str
    sanitizer: str
    ended: int
    ends_without: int
    samples: int = 0
    reports: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not self.reports and self.ended == self.ends_without and self.shows_something

    @property
    def shows_something(self) -> bool:
        """A program that was never sampled proves nothing; a part of the agent takes no samples."""
        return self.samples > 0 or self.sanitizer != WHOLE


def part(name: str, sanitizer: str, place: Path) -> Row:
    """Build a part of the agent with its test and run it."""
    binary = place / f"{name}-{sanitizer.partition(',')[0]}"
    sources = [PARTS / f"{name}.cpp", *(AGENT / source for source in PART_SOURCES[name])]
    flags = ["-std=c++20", "-O1", "-g", "-pthread", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"]
    subprocess.run(["g++", *flags, f"-I{AGENT}", "-o", binary, *sources], check=True)
    words = [str(binary), *([PART_ARGUMENTS[name]] if name in PART_ARGUMENTS else [])]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=TIMEOUT_S)
    return Row(name, sanitizer, done.returncode, 0, reports=_reports(done.stderr))


def build_agent(sanitizer: str) -> Path:
    flags = f"-fsanitize={sanitizer} -fsanitize-recover=all -fno-omit-frame-pointer -g1 -O1"
    options = ["-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_CXX_FLAGS={flags}"]
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, *options], **quiet)
    subprocess.run(["cmake", "--build", BUILD, "--target", "sonde_agent", "--parallel", "2"], **quiet)
    return BUILD / "native/agent/libsonde_agent.so"


PLANTED = """
extern "C" void* malloc(unsigned long);
__attribute__((constructor)) static void fault() {
  volatile char* block = static_cast<char*>(malloc(8));
  volatile int most = 0x7fffffff;
  block[8] = 1;
  most = most + 1;
}
"""


def check_that_faults_show(place: Path) -> None:
    """A library with one fault for each sanitizer must be reported, or a clean row would mean nothing."""
    library = place / "planted.so"
    flags = ["-fsanitize=address,undefined", "-fsanitize-recover=all", "-g1", "-O0", "-shared", "-fPIC"]
    subprocess.run(["g++", *flags, "-x", "c++", "-", "-o", library], input=PLANTED, text=True, check=True)
    environment = {**os.environ, **_sanitized(library, place / "planted.report")}
    done = subprocess.run(["true"], env=environment, check=False, capture_output=True)
    found = _said(place / "planted.report", done.stderr)
    if not any("AddressSanitizer" in r for r in found) or not any("runtime error" in r for r in found):
        raise SystemExit(f"planted faults were not reported: {found}")


def _sanitized(library: Path, report: Path) -> dict[str, str]:
    """The environment that puts `library` and the sanitizers' own into a program."""
    runtimes = [_runtime(name) for name in ("libasan.so", "libubsan.so")]
    return {
        "LD_PRELOAD": ":".join([*runtimes, str(library)]),
        "ASAN_OPTIONS": f"{ASAN}:log_path={report}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={report}",
    }


def inside(name: str, arguments: Sequence[str], agent: Path, place: Path) -> Row:
    """Run a program without the agent, then with the sanitized one."""
    command = [*_command(name, place), *arguments]
    without = subprocess.run(command, cwd=place, capture_output=True, timeout=TIMEOUT_S)
    folder = place / f"{name}.sonde"
    (folder / "raw").mkdir(parents=True)
    environment = agent_environment(folder, LaunchOptions(rate_hz=RATE_HZ), os.environ, os.getpid())
    environment |= _sanitized(agent, place / f"{name}.report")
    process = subprocess.run(command, cwd=place, env=environment, capture_output=True, timeout=TIMEOUT_S)
    reports = _said(place / f"{name}.report", process.stderr)
    samples = sum(ticks(read_raw_log(path)) for path in (folder / "raw").glob("*.slog"))
    return Row(name, WHOLE, process.returncode, without.returncode, samples, reports)


def _command(name: str, place: Path) -> list[str]:
    source = next(folder / name for folder in (PROGRAMS, GUESTS) if list(folder.glob(f"{name}*")))
    if source.suffix == ".py":
        return [sys.executable, str(source)]
    binary = place / name
    flags = ["-O1", "-g", "-no-pie", "-pthread", "-D_GNU_SOURCE"]
    subprocess.run(["gcc", *flags, "-o", binary, f"{source}.c"], check=True)
    return [str(binary)]


def _runtime(library: str) -> str:
    return subprocess.run(
        ["gcc", f"-print-file-name={library}"], capture_output=True, text=True, check=True
    ).stdout.strip()


def _said(report: Path, errors: bytes) -> list[str]:
    """Reports of all processes: AddressSanitizer writes files, UBSan to stderr."""
    files = [path.read_text(errors="replace") for path in report.parent.glob(f"{report.name}.*")]
    return _reports("\n".join([*files, errors.decode(errors="replace")]))


def _reports(text: str) -> list[str]:
    """The first lines of what the sanitizers said, each kind once."""
    marks = ("ERROR: AddressSanitizer", "runtime error:", "WARNING: ThreadSanitizer")
    lines = text.splitlines()
    found: dict[str, str] = {}
    for i, line in enumerate(lines):
        if any(mark in line for mark in marks):
            frames = [below.strip() for below in lines[i + 1 : i + 12] if below.strip().startswith("#")]
            found.setdefault(frames[0] if frames else line, "\n".join([line, *frames[:6]]))
    return list(found.values())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=[*PART_SOURCES, *INSIDE], metavar="NAME")
    options = parser.parse_args()
    chosen = options.only or [*PART_SOURCES, *INSIDE]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="sonde-sanitized-", ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        check_that_faults_show(place)
        agent = build_agent("address,undefined") if set(chosen) & set(INSIDE) else place
        for name in chosen:
            if name in PART_SOURCES:
                found = [part(name, kind, place) for kind in ("thread", "address,undefined")]
            else:
                found = [inside(name, INSIDE[name], agent, place)]
            for row in found:
                rows.append(row)
                verdict = "clean" if row.clean else f"{len(row.reports)} reports, ended with {row.ended}"
                print(f"{row.name:<26}{row.sanitizer:<34}{row.samples:>8} samples  {verdict}", flush=True)
                for report in row.reports:
                    print(report, flush=True)
    print(write("sanitizers", {"rows": [asdict(row) for row in rows]}))
    return 0 if all(row.clean for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
