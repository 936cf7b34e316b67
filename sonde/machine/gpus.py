"""Graphics processors by what their drivers show in /proc and /sys; no tool is started."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sonde.machine.tree import Tree

_VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}


@dataclass(frozen=True)
class Gpu:
    vendor: str
    name: str
    driver: str | None


def read_gpus(tree: Tree) -> tuple[Gpu, ...]:
    """NVIDIA by its driver's folder, others by their DRM card."""
    found = []
    version = re.search(r"Module\s+(\d[\d.]*)", tree.text("/proc/driver/nvidia/version") or "")
    for name in tree.names("/proc/driver/nvidia/gpus", r"[0-9a-fA-F:.]+"):
        info = tree.text(f"/proc/driver/nvidia/gpus/{name}/information") or ""
        model = re.search(r"Model:\s+(.+)", info)
        found.append(Gpu("NVIDIA", model[1].strip() if model else name, version[1] if version else None))
    for name in tree.names("/sys/class/drm", r"card\d+"):
        folder = f"/sys/class/drm/{name}/device"
        vendor = _VENDORS.get(tree.text(f"{folder}/vendor") or "")
        if vendor in ("AMD", "Intel") or (vendor == "NVIDIA" and not found):
            product = tree.text(f"{folder}/product_name") or tree.text(f"{folder}/device") or name
            found.append(Gpu(vendor, product, None))
    return tuple(found)
