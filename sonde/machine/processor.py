"""The processor by name: /proc/cpuinfo of x86, ARM and others."""

from __future__ import annotations

from dataclasses import dataclass

from sonde.machine.tree import Tree, to_int

# Part numbers of ARM cores that servers use; the kernel prints only the number.
_ARM_PARTS = {
    ("0x41", "0xd0c"): "Arm Neoverse N1",
    ("0x41", "0xd40"): "Arm Neoverse V1",
    ("0x41", "0xd49"): "Arm Neoverse N2",
    ("0x41", "0xd4f"): "Arm Neoverse V2",
    ("0x41", "0xd8e"): "Arm Neoverse N3",
    ("0x41", "0xd84"): "Arm Neoverse V3",
    ("0x41", "0xd08"): "Arm Cortex-A72",
    ("0xc0", "0xac3"): "Ampere Altra",
    ("0xc0", "0xac4"): "AmpereOne",
    ("0x46", "0x001"): "Fujitsu A64FX",
    ("0x61", "0x022"): "Apple M1",
}


@dataclass(frozen=True)
class Processor:
    """None where /proc/cpuinfo does not tell."""

    model: str | None
    vendor: str | None
    flags: frozenset[str]
    virtual: bool
    cores_by_cpu: dict[int, tuple[int, int]]  # CPU -> (package, core)


def read_processor(tree: Tree) -> Processor:
    """Name, flags and cores as the kernel prints them."""
    blocks = [_fields(block) for block in (tree.text("/proc/cpuinfo") or "").split("\n\n")]
    merged: dict[str, str] = {}
    for block in blocks:
        for key, value in block.items():
            merged.setdefault(key, value)
    flags = frozenset((merged.get("flags") or merged.get("features") or "").split())
    cores: dict[int, tuple[int, int]] = {}
    for block in blocks:
        cpu, package, core = (to_int(block.get(k)) for k in ("processor", "physical id", "core id"))
        if cpu is not None and package is not None and core is not None:
            cores[cpu] = (package, core)
    return Processor(_model(merged), _vendor(merged), flags, "hypervisor" in flags, cores)


def _fields(block: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in block.splitlines():
        key, separator, value = line.partition(":")
        if separator:
            found.setdefault(key.strip().lower(), value.strip())
    return found


def _model(fields: dict[str, str]) -> str | None:
    part = _ARM_PARTS.get((fields.get("cpu implementer", ""), fields.get("cpu part", "")))
    return fields.get("model name") or part or fields.get("hardware") or fields.get("cpu") or None


def _vendor(fields: dict[str, str]) -> str | None:
    known = {"GenuineIntel": "Intel", "AuthenticAMD": "AMD", "HygonGenuine": "Hygon"}
    vendor = fields.get("vendor_id")
    if vendor:
        return known.get(vendor, vendor)
    implementer = fields.get("cpu implementer")
    names = {"0x41": "Arm", "0xc0": "Ampere", "0x46": "Fujitsu", "0x61": "Apple", "0x48": "HiSilicon"}
    return names.get(implementer, f"implementer {implementer}") if implementer else None
