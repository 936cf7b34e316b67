"""Does a wheel keep its promise? check.py WHEEL: any glibc since 2.17, no other library, nothing left over.

auditwheel judges the platform; what it cannot know is checked here: libraries are stripped, export nothing of the
C++ runtime that is linked into them, need the C library alone, and have the whole table of guarded loads.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from io import BytesIO

from elftools.elf.elffile import ELFFile

PLATFORM = "manylinux_2_17_x86_64"
LIBRARIES = {
    "libsonde_agent.so",
    "libsonde_attach.so",
    "libsonde_dump.so",
    "libsonde_lines.so",
    "libsonde_observer.so",
    "libsonde_tools.so",
}
C_LIBRARY = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}
NEEDED = ("sonde/cli/main.py", "sonde/examples/numpy_classifier.py", "sonde/render/assets/report.js")
FEWEST_GUARDED_LOADS = 100  # 174 in November 2026, 8 where sections were collected
CXX_RUNTIME = ("_ZSt", "_ZNSt", "_ZNKSt", "_ZTISt", "_ZTVSt", "_Zn", "_Zd", "__cxa_", "__gxx_", "_Unwind_")


def problems(wheel: str) -> list[str]:
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", wheel], text=True, capture_output=True, check=True
    ).stdout
    found = []
    if f'platform tag: "{PLATFORM}"' not in " ".join(shown.split()):
        found.append(f"auditwheel does not say {PLATFORM}:\n{shown}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        native = {n.rpartition("/")[2]: n for n in names if n.endswith(".so")}
        if set(native) != LIBRARIES:
            found.append(f"libraries in it: {sorted(native)}, expected {sorted(LIBRARIES)}")
        found += [
            f"{n} does not belong into it" for n in names if not n.startswith(("sonde/", "sonde_profiler-"))
        ]
        found += [f"{n} is missing" for n in NEEDED if n not in names]
        for name, path in native.items():
            found += [f"{name}: {text}" for text in library_problems(archive.read(path))]
        if "libsonde_agent.so" in native:
            found += table_problems(archive.read(native["libsonde_agent.so"]))
    return found


def library_problems(image: bytes) -> list[str]:
    elf = ELFFile(BytesIO(image))
    dynamic = elf.get_section_by_name(".dynamic")
    needed = {tag.needed for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED"}
    found = [f"needs {library}" for library in sorted(needed - C_LIBRARY)]
    if elf.get_section_by_name(".symtab") or elf.get_section_by_name(".debug_info"):
        found.append("is not stripped")
    exported = {
        s.name
        for s in elf.get_section_by_name(".dynsym").iter_symbols()
        if s.entry.st_shndx != "SHN_UNDEF" and s.name.startswith(CXX_RUNTIME)
    }
    return found + [f"exports {name} of the C++ runtime" for name in sorted(exported)]


def table_problems(agent: bytes) -> list[str]:
    """A linker may drop the table of guarded loads without a word; the guest then dies of the first one that faults."""
    table = ELFFile(BytesIO(agent)).get_section_by_name("sonde_fixups")
    entries = 0 if table is None else table.data_size // 8  # two int32 each
    few = entries < FEWEST_GUARDED_LOADS
    return (
        [f"libsonde_agent.so: {entries} guarded loads in its table; a linker has dropped the others"]
        if few
        else []
    )


if __name__ == "__main__":
    wrong = problems(sys.argv[1])
    print(
        "\n".join(wrong) or f"[wheel] auditwheel: {PLATFORM}, nothing but the C library needed",
        file=sys.stderr,
    )
    sys.exit(1 if wrong else 0)
