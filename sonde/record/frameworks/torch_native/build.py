"""Builds the observer of operator calls for a program's own torch, once per torch.

Enters: a command. Leaves: the built library and the torch it belongs to, or one sentence that says why there is
none. Nothing here stops the recording: a program without torch, a machine without a compiler, a torch
without headers or headers that do not fit their library are all told, and the program runs without.

The library is kept under the user's cache by torch's version and build id and by its own source. It is tried in a
process of its own before it may enter a program: one call with known inputs must come out as it went in.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sonde import rawfolder
from sonde.symbols import elf
from sonde.symbols.cache import default_folder

FOLDER = Path(__file__).parent
SOURCES = ("calls.cpp", "log.h", "signatures.h")  # the first includes the others
LIBRARY = "libtorch_cpu.so"
COMPILERS = ("c++", "g++", "clang++")
STANDARDS = ("c++20", "c++17")  # torch 2.12 and later ask for the first
BUILD_SECONDS, CHECK_SECONDS = 900, 120
CHECKED = '{"signature": 1, "name": "sonde::check", "shapes": "[[2, 3], [], []]", '
TRY = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).sonde_observer_check(sys.argv[2].encode()))"


class NotBuilt(Exception):
    """There is no observer for this program; the text says why."""


@dataclass(frozen=True)
class Built:
    """The observer's library and the libtorch_cpu.so that it was built for."""

    observer: Path
    torch: Path


def observer_for(command: list[str]) -> Built:
    """The observer for the torch of a native program; builds it when there is none yet."""
    torch = torch_of(command)
    headers = headers_of(torch)
    name = "-".join(
        (
            version_of(headers),
            elf.build_id(torch) or _digest(torch.read_bytes()),
            _digest(b"".join((FOLDER / name).read_bytes() for name in SOURCES)),
        )
    )
    base = default_folder() or Path(tempfile.mkdtemp(prefix="sonde-"))
    target = base / "observers" / name / "libsonde_observer_calls.so"
    if not target.exists():
        _build(torch, headers, target)
    return Built(target, torch)


def torch_of(command: list[str]) -> Path:
    """The libtorch_cpu.so that the loader gives to the first program in `command` that has one.

    A launcher in front (taskset, env, mpirun) has none, so every word that names a program is asked.
    """
    python = False
    for word in command:
        found = shutil.which(word)
        if found is None or not _is_elf(Path(found)):
            continue
        python = python or Path(found).name.startswith("python")
        path = _loaded(found)
        if path is not None:
            return path
    if python:
        raise NotBuilt("a Python program has its shapes from windows (--window); --shapes is for native ones")
    raise NotBuilt(f"{command[0]!r} is not linked to {LIBRARY}")


def headers_of(torch: Path) -> Path:
    """The include folder that lies beside the library: lib/ and include/ of one torch."""
    for folder in (torch.parent.parent / "include", torch.parent.parent.parent / "include"):
        if (folder / "ATen" / "record_function.h").exists():
            return folder
    raise NotBuilt(f"torch's headers are not beside {torch}: no {torch.parent.parent}/include/ATen")


def version_of(headers: Path) -> str:
    for name in ("torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h", "torch/version.h"):
        path = headers / name
        if path.exists():
            text = path.read_text(encoding="utf-8", errors="replace")
            parts = [re.search(rf"TORCH_VERSION_{p} (\d+)", text) for p in ("MAJOR", "MINOR", "PATCH")]
            if all(parts):
                return ".".join(found[1] for found in parts if found)
    return "unknown"


def _is_elf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _loaded(program: str) -> Path | None:
    """What `ldd` would say; the loader lists the libraries and does not start the program."""
    environment = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}
    environment.pop("LD_PRELOAD", None)
    try:
        listed = subprocess.run(
            [program], env=environment, capture_output=True, text=True, errors="replace", timeout=30
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(rf"{re.escape(LIBRARY)} => (/\S.*?) \(0x", listed)
    return Path(found[1]).resolve() if found else None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def _build(torch: Path, headers: Path, target: Path) -> None:
    compiler = next((path for name in COMPILERS if (path := shutil.which(name))), None)
    if compiler is None:
        raise NotBuilt(f"no C++ compiler ({', '.join(COMPILERS)}) to build the observer with")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotBuilt(f"{target.parent} cannot be made: {error.strerror}") from None
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = Path(folder) / target.name
        _compile(compiler, torch, headers, made)
        _check(made, Path(folder))
        os.replace(made, target)  # whoever builds at the same time makes the same file


def _compile(compiler: str, torch: Path, headers: Path, made: Path) -> None:
    said = ""
    for standard in STANDARDS:
        command = [
            compiler, f"-std={standard}", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-w",
            "-DNDEBUG",  # as torch's own releases: RecordFunction has one member more without it
            f"-D_GLIBCXX_USE_CXX11_ABI={int(has_new_strings(torch))}",
            f"-I{headers}", f"-I{headers}/torch/csrc/api/include",
            str(FOLDER / SOURCES[0]), "-o", str(made),
            f"-L{torch.parent}", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{torch.parent}", "-Wl,--no-undefined",
        ]  # fmt: skip
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=BUILD_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotBuilt(f"{compiler} failed: {error}") from None
        if done.returncode == 0:
            return
        lines = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
        said = said or (lines[0] if lines else f"exit code {done.returncode}")
    raise NotBuilt(f"{compiler} cannot build the observer for {torch}: {said[:400]}")


def has_new_strings(torch: Path) -> bool:
    """Whether torch was built with libstdc++'s C++11 strings: a function of libc10 that takes one says so."""
    library = torch.with_name("libc10.so")
    return not library.exists() or b"torchCheckFailEPKcS2_jRKSs" not in library.read_bytes()


def _check(made: Path, folder: Path) -> None:
    """In another process: a library that does not fit its headers may do anything."""
    (folder / rawfolder.FOLDER).mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_AGENT_")}
    environment.pop("LD_PRELOAD", None)
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", TRY, str(made), str(folder)],
            env=environment, capture_output=True, text=True, errors="replace", timeout=CHECK_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotBuilt(f"the built observer could not be tried: {error}") from None
    written = "".join(
        path.read_text() for _, _, path in rawfolder.NATIVE_SIGNATURES.find(folder / rawfolder.FOLDER)
    )
    if done.returncode != 0 or not written.startswith(CHECKED) or not _is_json(written):
        last = done.stderr.strip().splitlines()[-1:] or [written[:200]]
        raise NotBuilt(
            f"torch's headers do not fit its library: a trial call ended with {done.returncode}; {last[0]}"
        )


def _is_json(lines: str) -> bool:
    try:
        return all(json.loads(line) for line in lines.splitlines())
    except ValueError:
        return False
