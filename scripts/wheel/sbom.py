"""CycloneDX bill of materials of a wheel: sbom.py WHEEL REQUIREMENTS OUT

Two kinds of parts: what pip installs beside it (from the wheel's metadata, as ranges), and what is
compiled into its libraries (LLVM's libc++, libc++abi, libunwind and compiler-rt as the pinned ziglang brings them).
No time and no serial number, so that the same wheel has the same bill.
"""

from __future__ import annotations

import email
import hashlib
import re
import sys
import zipfile
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot5
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.requirements import Requirement

COMPILED_IN = ("libc++", "libc++abi", "libunwind", "compiler-rt")


def bill(wheel: Path, zig: str) -> Bom:
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(path))
    name, version = metadata["Name"], metadata["Version"]
    subject = Component(
        type=ComponentType.LIBRARY, name=name, version=version, bom_ref=f"{name}=={version}",
        purl=PackageURL("pypi", None, name, version), licenses=[DisjunctiveLicense(id="Apache-2.0")],
        description=metadata["Summary"],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(wheel.read_bytes()).hexdigest())],
    )  # fmt: skip
    bom = Bom(serial_number=None)
    bom.metadata.component = subject
    wanted = [Requirement(text) for text in metadata.get_all("Requires-Dist", [])]
    installed = [
        Component(
            type=ComponentType.LIBRARY, name=r.name, bom_ref=r.name, purl=PackageURL("pypi", None, r.name),
            properties=[Property(name="sonde:versions", value=str(r.specifier))],
        )
        for r in wanted if r.marker is None
    ]  # fmt: skip
    linked = [
        Component(
            type=ComponentType.LIBRARY, name=part, bom_ref=part, version=f"as in ziglang {zig}",
            purl=PackageURL("pypi", None, "ziglang", zig, subpath=part),
            licenses=[DisjunctiveLicense(name="Apache-2.0 WITH LLVM-exception")],
            properties=[Property(name="sonde:linked", value="statically, into sonde/_native")],
        )
        for part in COMPILED_IN
    ]  # fmt: skip
    for component in (*installed, *linked):
        bom.components.add(component)
    bom.register_dependency(subject, [*installed, *linked])
    return bom


def write(bom: Bom, target: Path) -> None:
    text = JsonV1Dot5(bom).output_as_string(indent=1)
    text = re.sub(r'\n\s*"(?:timestamp|serialNumber)": "[^"]*",?', "", text)
    text = re.sub(r",(\s*[}\]])", r"\1", text)
    if (wrong := JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)) is not None:
        sys.exit(f"the SBOM is not valid CycloneDX: {wrong}")
    target.write_text(text + "\n")


if __name__ == "__main__":
    wheel, requirements, folder = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    pinned = re.search(r"^ziglang==([\d.]+)", requirements.read_text(), re.MULTILINE)
    assert pinned, "ziglang is not pinned"
    stem = "-".join(wheel.name.split("-")[:2])
    write(bill(wheel, pinned.group(1)), folder / f"{stem}.cdx.json")
